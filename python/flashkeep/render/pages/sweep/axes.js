// Drawing: axes, markers, lines, as SVG elements.

const SVG = "http://www.w3.org/2000/svg";
const LETTER = 6.7; // pixels of a letter of 12 pixels' height
const DASHES = ["", "5 2", "1 1.5", "5 2 1 2", "9 2", "3 1 1 1 1 1"];
const SHAPES = [
  (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0 ${-1.15 * r}L${1.1 * r} ${r}H${-1.1 * r}z`,
  (r) => `M0 ${-1.25 * r}L${1.25 * r} 0L0 ${1.25 * r}L${-1.25 * r} 0z`,
  (r) => `M0 ${1.15 * r}L${1.1 * r} ${-r}H${-1.1 * r}z`,
  (r) => `M${-r / 2} ${-r}h${r}v${r / 2}h${r / 2}v${r}h${-r / 2}v${r / 2}h${-r}v${-r / 2}h${-r / 2}v${-r}h${r / 2}z`,
];
const look = (at) => (at + Math.floor(at / 6)) % 6;
const colour = (at) => `var(--s${(at % 6) + 1})`;

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function label(x, y, told, attributes = {}) {
  return svg("text", { x, y, "font-size": 12, fill: "var(--ink)", ...attributes }, told);
}

function line(x1, y1, x2, y2, attributes = {}) {
  return svg("line", { x1, y1, x2, y2, stroke: "var(--ink)", "stroke-width": 1, ...attributes });
}

/** A marker with what it stands for; hollow if pages were lost. */
function marker(x, y, at, lost, told, radius = 4.2, fill = colour(at)) {
  const attributes = { d: SHAPES[look(at)](radius), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
                       fill: lost ? "var(--paper)" : fill, stroke: lost && fill !== "var(--grid)" ? fill : "var(--ink)",
                       "stroke-width": lost ? 1.6 : 0.7, class: "point" };
  return svg("path", attributes, svg("title", {}, told));
}

/** Lines of at most `most` letters, folded at commas and spaces. */
function folded(told, most, rows = 3) {
  const found = [""];
  for (const part of told.split(/(?<=[,\s])/)) {
    if (found.at(-1) && found.at(-1).length + part.trimEnd().length > most) found.push("");
    found[found.length - 1] += part;
  }
  const lines = found.map((each) => each.trimEnd()).map((each) => (each.length > most ? `${each.slice(0, most - 1)}…` : each));
  return lines.length > rows ? [...lines.slice(0, rows - 1), `${lines[rows - 1].slice(0, most - 1)}…`] : lines;
}

/** The scale for estimates: where it begins and ends, and its kind. Intervals are cut at zero if no mean is below. */
function scaleFor(points, factor, wish = "automatic") {
  const means = points.map((one) => factor * one.mean);
  const least = Math.min(...means), most = Math.max(...means);
  let low = Math.min(...points.map((one) => factor * (one.mean - (one.half || 0))));
  let high = Math.max(...points.map((one) => factor * (one.mean + (one.half || 0))));
  let kind = wish;
  if (wish === "automatic") {
    kind = least > 0 && most / least > data.logarithmicFigure ? "logarithmic"
      : least > data.fitted * most && most > 0 ? "fitted" : "zero";
  }
  if (kind === "logarithmic" && least <= 0) kind = "zero";
  if (kind === "logarithmic") return { kind, low: Math.max(low, 0.5 * least) / 1.25, high: 1.25 * high };
  if (least >= 0) low = kind === "zero" ? 0 : Math.max(low, 0);
  else if (kind === "zero") high = Math.max(high, 0);
  const room = 0.07 * (high - low || Math.abs(high) || 1);
  return { kind, low: kind === "zero" && low === 0 ? 0 : low - room, high: high + room };
}

/** A function from values to pixels. */
function placer(scale, from, to) {
  const turn = scale.kind === "logarithmic" ? (value) => Math.log(Math.max(value, 1e-300)) : (value) => value;
  const low = turn(scale.low), span = turn(scale.high) - low || 1;
  return (value) => from + ((to - from) * (turn(value) - low)) / span;
}

/** The numbers of an axis. */
function ticks(scale, about) {
  const found = [];
  if (scale.kind === "logarithmic") {
    const decades = Math.log10(scale.high / scale.low);
    const steps = decades < 1 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : decades < 2.5 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(decades / about));
    for (let power = Math.floor(Math.log10(scale.low)); power <= Math.log10(scale.high); power++) {
      if (steps.length === 1 && power % every) continue;
      for (const step of steps) found.push(Number((step * 10 ** power).toPrecision(6)));
    }
  } else {
    const raw = (scale.high - scale.low) / about;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= raw);
    for (let at = Math.ceil(scale.low / step); at * step <= scale.high; at++) found.push(Number((at * step).toPrecision(10)));
  }
  return found.filter((value) => value >= scale.low * (1 - 1e-9) && value <= scale.high * (1 + 1e-9));
}

/** Draws an axis of numbers on the left, with lines across the panel. */
function leftAxis(group, place, numbers, box, named) {
  for (const value of numbers) {
    const y = place(value);
    group.append(line(box.left, y, box.right, y, { stroke: "var(--grid)" }));
    if (named) group.append(label(box.left - 6, y + 4, plain(value), { "text-anchor": "end" }));
  }
  group.append(line(box.left, box.top, box.left, box.bottom));
}

/** Names what the left axis shows, turned. */
function leftTitle(group, told, x, box) {
  const y = (box.top + box.bottom) / 2;
  group.append(label(x, y, told, { "text-anchor": "middle", transform: `rotate(-90 ${x} ${y})` }));
}

/** Letters that the numbers of an axis need. */
const widest = (numbers) => Math.max(...numbers.map((value) => plain(value).length), 1);

/** Draws with the width of its holder, and again when that changes. */
function follow(holder, draw) {
  let wide = 0;
  new ResizeObserver(() => {
    if (Math.abs(holder.clientWidth - wide) < 2) return;
    wide = holder.clientWidth;
    draw();
  }).observe(holder);
}

/** Saves a chart with the colours that it has now. */
function save(holder, name) {
  const chart = holder.querySelector("svg");
  if (!chart) return;
  const style = getComputedStyle(document.documentElement);
  let source = new XMLSerializer().serializeToString(chart);
  source = source.replace(/var\((--\w+)\)/g, (_, key) => style.getPropertyValue(key).trim());
  const url = URL.createObjectURL(new Blob([source], { type: "image/svg+xml" }));
  const link = make("a", { href: url, download: `${name.replace(/\W+/g, "-")}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A table of configurations: their keys, then figures with intervals, then n. */
function listed(rows, keys, shown) {
  const head = [...keys.map((key) => make("th", { class: "key" }, key)), ...shown.map((column) => make("th", {}, column.words)), make("th", {}, "n")];
  const lost = rows.some((one) => one.lost);
  if (lost) head.push(make("th", {}, "pages lost"));
  const body = rows.map((one) => make("tr", {},
    ...keys.map((key) => make("td", { class: "key" }, one.values[key] ?? NONE)),
    ...shown.map((column) => make("td", {}, words(column, estimate(column, one)))),
    make("td", {}, String(one.rows.length)), ...(lost ? [make("td", {}, one.lost ? "yes" : "")] : [])));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}
