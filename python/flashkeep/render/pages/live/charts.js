// Charts of figures over the wall clock, drawn anew with each sample.

const $ = (id) => document.getElementById(id);
const NONE = "–";
const HIGH = 190, TOP = 14, FOOT = 22; // pixels: a chart, the room above its panel, and that of the numbers below
const LEAST_SPAN = 60, MOST_SPAN = 600; // seconds of the wall clock
const minus = (text) => text.replace("-", "−");

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element[key] = value;
  element.append(...children);
  return element;
}

/** A number on an axis: 0.01, 2.5, 1,000,000. */
function plain(value) {
  return minus(value.toLocaleString("en-US", { maximumFractionDigits: value !== 0 && Math.abs(value) < 1 ? 10 : 3 }));
}

/** A number with three digits. */
function short(value) {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(value);
  return minus(value.toLocaleString("en-US", size >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 }));
}

// Its title, unit, factor, and lines: the column, the name, and whether the axis may be logarithmic.
const CHARTS = [
  { title: "Response time", unit: "µs", wide: true, lines: [["mean_us", "mean of the interval"], ["p50_us", "p50 since the start"], ["p99_us", "p99 since the start"]] },
  { title: "Requests per second of virtual time", unit: "1/s", lines: [["requests_s", "interval"]] },
  { title: "Outstanding requests", unit: "requests", lines: [["outstanding_mean", "mean of the interval"], ["outstanding", "at the sample"]] },
  { title: "Garbage collection per second of virtual time", unit: "1/s", lines: [["gc_s", "pages read and programmed"], ["erases_s", "erases, of all causes"]] },
  { title: "Write amplification", unit: "bytes programmed / written", lines: [["waf", "interval"], ["waf_total", "since the start"]] },
  { title: "Flash pages that hold valid data", unit: "%", factor: 100, lines: [["fill", "at the sample"]] },
  { title: "Wear: erases of a block", unit: "erases", lines: [["erases_mean", "mean"], ["erases_max", "most"]] },
  { title: "Acknowledged and not flushed", unit: "MiB", factor: 1 / 2 ** 20, lines: [["unflushed", "at its last sample"]] },
  { title: "Late replies and failed requests", unit: "requests per sample", lines: [["late", "late by more than 100 µs of the wall clock"], ["failed", "failed"]] },
];

/** Seconds ago as text. */
const ago = (seconds) => (seconds === 0 ? "now" : seconds % 60 ? `−${seconds} s` : `−${seconds / 60} min`);

/** The path of a line; values that are missing leave a gap, and a value between two gaps is a dot. */
function course(points) {
  let path = "", pen = false;
  points.forEach(([x, y], at) => {
    if (y === null) { pen = false; return; }
    const alone = !pen && (at + 1 === points.length || points[at + 1][1] === null);
    path += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}${alone ? "h0.01" : ""}`;
    pen = true;
  });
  return path;
}

class Chart {
  constructor(kind) {
    this.kind = kind;
    this.legend = make("div", { className: "legend" });
    this.holder = make("div", { className: "chart" });
    this.when = make("span", { className: "faint" });
    this.figure = make("figure", { hidden: true }, make("h3", {}, `${kind.title} `, this.when), this.legend, this.holder);
    this.pointed = null;
    this.holder.addEventListener("pointermove", (event) => {
      this.pointed = event.clientX - this.holder.getBoundingClientRect().left;
      this.draw();
    });
    this.holder.addEventListener("pointerleave", () => { this.pointed = null; this.draw(); });
    follow(this.holder, () => this.draw());
  }

  /** Takes the samples, as objects, the wall clock of the server, and the instants of actions. */
  show(samples, now, marks) {
    Object.assign(this, { samples, now, marks });
    this.figure.hidden = !samples.some((one) => this.kind.lines.some(([column]) => one[column] !== null));
    this.draw();
  }

  scale(values) {
    const most = Math.max(...values, 0), least = Math.min(...values.filter((value) => value > 0));
    if (this.kind.wide && most / least > 30) return { kind: "logarithmic", low: least / 1.25, high: 1.25 * most };
    return { kind: "zero", low: 0, high: 1.07 * most || 1 };
  }

  draw() {
    const width = this.holder.clientWidth;
    if (!this.samples || this.figure.hidden || !width) return;
    const { lines, factor = 1, unit, title } = this.kind;
    const values = lines.map(([column]) => this.samples.map((one) => (one[column] === null ? null : factor * one[column])));
    const scale = this.scale(values.flat().filter((value) => value !== null));
    const numbers = ticks(scale, 4);
    const box = { left: 30 + LETTER * widest(numbers), right: width - 8, top: TOP, bottom: HIGH - FOOT };
    const span = Math.min(Math.max(this.now - this.samples[0].wall_s, LEAST_SPAN), MOST_SPAN);
    const y = placer(scale, box.bottom, box.top), x = placer({ low: this.now - span, high: this.now }, box.left, box.right);
    const picture = svg("svg", { width, height: HIGH, viewBox: `0 0 ${width} ${HIGH}`, role: "img", "aria-label": `${title}, ${unit}` });
    leftAxis(picture, y, numbers, box, true);
    leftTitle(picture, unit, 12, box);
    this.lowerAxis(picture, x, span, box);
    let free = 0; // where the next name fits
    for (const { wall_s, verb } of this.marks.filter((mark) => mark.wall_s > this.now - span)) {
      const at = x(wall_s);
      picture.append(line(at, box.top, at, box.bottom, { stroke: "var(--faint)", "stroke-dasharray": "3 3" }));
      if (at < free) continue;
      free = at + 36;
      picture.append(label(at, box.top - 3, verb, { "text-anchor": at > box.right - 30 ? "end" : "middle", "font-size": 10.5, fill: "var(--faint)" }));
    }
    values.forEach((each, at) => {
      const points = this.samples.map((one, place) => [x(one.wall_s), each[place] === null || (scale.kind !== "zero" && each[place] <= 0) ? null : y(each[place])]);
      picture.append(svg("path", { ...this.stroke(at), d: course(points.filter(([place]) => place >= box.left - 1)) }));
    });
    const shown = this.read(picture, x, box);
    this.legend.replaceChildren(...lines.map(([, name], at) => make("span", {},
      svg("svg", { width: 22, height: 8, "aria-hidden": "true" }, svg("path", { ...this.stroke(at), d: "M1 4H21" })),
      `${name}: ${short(values[at][shown])}`)));
    const { wall_s, virtual_s } = this.samples[shown];
    this.when.textContent = this.pointed === null ? "" : `${ago(Math.round(this.now - wall_s))}, virtual time ${virtual_s.toFixed(3)} s`;
    this.holder.replaceChildren(picture);
  }

  stroke(at) {
    return { fill: "none", stroke: colour(at), "stroke-width": 1.8, "stroke-linejoin": "round", "stroke-linecap": "round", "stroke-dasharray": ["", "6 3", "1.5 3"][at] };
  }

  lowerAxis(picture, x, span, box) {
    const step = [10, 30, 60, 120].find((each) => (LETTER * 10 * span) / each < box.right - box.left) ?? 300;
    for (let back = 0; back <= span; back += step) {
      const at = x(this.now - back), anchor = back ? "middle" : "end";
      picture.append(line(at, box.bottom, at, box.bottom + 4), label(back ? at : box.right, HIGH - 5, ago(back), { "text-anchor": anchor }));
    }
    picture.append(line(box.left, box.bottom, box.right, box.bottom));
  }

  /** The sample that is read: the one pointed at, or the last. */
  read(picture, x, box) {
    const last = this.samples.length - 1;
    if (this.pointed === null) return last;
    const far = (at) => Math.abs(x(this.samples[at].wall_s) - this.pointed);
    let best = last;
    for (let at = 0; at < last; at++) if (far(at) < far(best)) best = at;
    const at = x(this.samples[best].wall_s);
    picture.append(line(at, box.top, at, box.bottom, { stroke: "var(--faint)" }));
    return best;
  }
}
