// The table of cells, configurations and their means over seeds, formats of numbers, and controls.

const data = JSON.parse(document.getElementById("data").textContent);
const columns = new Map(data.columns.map((column) => [column.name, column]));
const figures = data.columns.filter((column) => column.role === "figure");
const dimensions = new Map(data.dimensions.map((one) => [one.name, one]));
const $ = (id) => document.getElementById(id);

const NONE = "–";
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const minus = (text) => text.replace("-", "−");

/** How a figure is written: as in all tables of flashkeep. */
function write(column, value) {
  if (value === null) return NONE;
  if (column.form === "count") return minus(whole.format(value));
  if (column.form === "ratio") return minus(value.toFixed(3));
  if (column.form === "share") return `${(100 * value).toFixed(value >= 0.01 || value === 0 ? 1 : 3)} %`;
  if (column.form === "rate") return value === 0 ? "0" : minus(value.toExponential(2));
  const size = Math.abs(value);
  if (size >= 1000) return minus(whole.format(value));
  return minus(value.toFixed(size < 10 ? 3 : size < 100 ? 2 : 1));
}

/** A number on an axis: 0.01, 2.5, 1,000,000. */
function plain(value) {
  const digits = value !== 0 && Math.abs(value) < 1 ? 10 : 3;
  return minus(value.toLocaleString("en-US", { maximumFractionDigits: digits }));
}

/** The text of a cell of the table. */
function text(column, row) {
  if (column.role === "figure") return write(column, column.values[row]);
  const code = column.codes[row];
  return code < 0 ? "" : column.levels[code];
}

const levelOf = (name, row) => text(columns.get(name), row);
const ended = new Set(data.ended);
const status = columns.get("status");

/** Cells that differ in their seed only. */
const configurations = (() => {
  const found = new Map();
  const names = [...dimensions.keys()];
  for (let row = 0; row < data.rows; row++) {
    if (!ended.has(text(status, row))) continue;
    const place = names.map((name) => levelOf(name, row));
    const key = place.join("\u0000");
    if (!found.has(key)) {
      const values = Object.fromEntries(names.map((name, at) => [name, place[at]]));
      found.set(key, { values, rows: [], lost: false });
    }
    const one = found.get(key);
    one.rows.push(row);
    one.lost ||= text(status, row) === "3";
  }
  return [...found.values()];
})();

/** The mean of a figure over seeds, and half of its 95 % t-interval; one seed has no interval. */
function estimate(column, one) {
  const values = one.rows.map((row) => column.values[row]).filter((value) => value !== null);
  const n = values.length;
  if (!n) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n === 1) return { mean, half: null, n };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, half: (data.student[n - 2] * Math.sqrt(squares / (n - 1))) / Math.sqrt(n), n };
}

/** An estimate in words: `1,234 ± 56 (n = 3)`. */
function words(column, told) {
  if (told === null) return NONE;
  const half = told.half === null ? "" : ` ± ${write(column, told.half)}`;
  return `${write(column, told.mean)}${half}`;
}

/** The keys that the chosen ones do not determine: a chart holds each at one value. */
function free(chosen) {
  const fixed = [...chosen];
  const left = [];
  for (const name of dimensions.keys()) {
    if (fixed.includes(name) || determined(name, fixed)) continue;
    left.push(name);
    fixed.push(name);
  }
  return left;
}

function determined(name, by) {
  const seen = new Map();
  for (const one of configurations) {
    const place = by.map((each) => one.values[each]).join("\u0000");
    if (!seen.has(place)) seen.set(place, one.values[name]);
    else if (seen.get(place) !== one.values[name]) return false;
  }
  return true;
}

/** An element with attributes and children. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Fills a drop-down list with pairs of value and text. */
function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, told]) => make("option", { value }, told)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

/** Figures for a drop-down list: those with words first, others by their path. */
function figureOptions(kept = () => true) {
  const named = figures.filter((column) => kept(column) && column.words !== column.name);
  const others = figures.filter((column) => kept(column) && column.words === column.name);
  return [...named.map((column) => [column.name, `${column.words} (${column.name})`]),
          ...others.map((column) => [column.name, column.name])];
}

const direction = (column) => (column.better ? ` (${column.better < 0 ? "lower" : "higher"} is better)` : "");

/** How many seeds the means are of. */
const seedsTold = (() => {
  const counts = configurations.map((one) => one.rows.length);
  const least = Math.min(...counts), most = Math.max(...counts);
  if (most <= 1) return "one seed, no intervals";
  const n = least === most ? most : `${least} to ${most}`;
  return `means and 95 % t-intervals over seeds, n = ${n}${least === 1 ? "; no interval with one seed" : ""}`;
})();

/** A name that may be folded after dots and underscores. */
function foldable(name) {
  return name.split(/(?<=[._])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
}
