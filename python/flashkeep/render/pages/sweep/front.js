// Pareto fronts: configurations that no other one of their workload beats in both figures.

const fronts = (() => {
  const MOST_PANELS = 6, MOST_POINTS = 3000, MOST_LISTED = 500;
  const holder = $("front");

  function controls() {
    const options = figureOptions((column) => column.better);
    fill($("figure-a"), options, data.first.a);
    fill($("figure-b"), options, data.first.b);
    const workloads = dimensions.get("workload")?.values ?? [];
    fill($("front-workload"), [["", "all, a panel each"], ...workloads.map((value) => [value, value])], "");
    $("front-workload").parentElement.hidden = !workloads.length;
    for (const id of ["figure-a", "figure-b", "front-workload"]) $(id).addEventListener("change", draw);
    $("save-front").addEventListener("click", () => save(holder, `pareto-${$("figure-a").value}-${$("figure-b").value}`));
  }

  /** The candidates by workload. */
  function candidates(a, b) {
    const found = new Map();
    const only = $("front-workload").value;
    for (const one of configurations) {
      const workload = levelOf("workload", one.rows[0]);
      const first = estimate(a, one), second = estimate(b, one);
      if (first === null || second === null || (only && workload !== only)) continue;
      if (!found.has(workload)) found.set(workload, []);
      found.get(workload).push({ one, a: first, b: second });
    }
    return found;
  }

  /** The points that no other one equals or beats in both figures and beats in one, from the best `a` on. */
  function frontOf(points, a, b) {
    const rounded = (mean) => Number(mean.toPrecision(5)); // what differs by less is equal
    const ordered = points.map((point) => ({ point, a: -a.better * rounded(point.a.mean), b: -b.better * rounded(point.b.mean) }))
      .sort((one, other) => one.a - other.a || one.b - other.b);
    const kept = [];
    let last = null;
    for (const each of ordered) {
      if (last && each.b >= last.b && !(each.a === last.a && each.b === last.b)) continue; // neither better nor equal in both
      kept.push(each.point);
      last = each;
    }
    return kept;
  }

  function draw() {
    const a = columns.get($("figure-a").value), b = columns.get($("figure-b").value);
    const found = [...candidates(a, b)];
    const shown = found.slice(0, MOST_PANELS);
    const best = shown.map(([, points]) => frontOf(points, a, b));
    holder.replaceChildren(shown.length ? chart(a, b, shown, best) : make("p", { class: "faint" }, "No cell has both figures."));
    const parts = [`${a.words}${direction(a)} and ${b.words}${direction(b)}: configurations of one workload, compared by their means`,
                   seedsTold];
    if (found.some(([, points]) => points.length > data.fewPoints) && seedsTold.includes("interval")) parts.push("intervals of the front only");
    if (shown.some(([, points]) => points.some((point) => point.one.lost))) parts.push("hollow: pages were lost");
    if (found.length > shown.length) parts.push(`${shown.length} of ${found.length} workloads`);
    if (found.some(([, points]) => points.length > MOST_POINTS)) parts.push(`of those that are not on the front about ${whole.format(MOST_POINTS)} are drawn`);
    $("front-told").textContent = `${parts.join("; ")}.`;
    const keys = [...dimensions.keys()].filter((name) => name !== "workload");
    $("front-list").replaceChildren(...shown.flatMap(([workload], at) => [
      make("h3", {}, `The front${found.length > 1 ? ` under ${workload}` : ""}: ${best[at].length} of ${found[at][1].length} configurations`),
      make("div", { class: "scroll", tabindex: 0 }, listed(best[at].slice(0, MOST_LISTED).map((point) => point.one), keys, a === b ? [a] : [a, b])),
    ]));
  }

  function chart(a, b, shown, best) {
    const across = Math.max(1, Math.min(shown.length, 3, Math.floor(holder.clientWidth / 330)));
    const gap = 18, width = Math.max(holder.clientWidth, 300);
    const wide = (width - (across - 1) * gap) / across, high = Math.min(330, Math.max(230, 0.72 * wide));
    const picture = svg("svg", { role: "img", "aria-label": `Pareto front of ${a.words} and ${b.words}` });
    let top = 0;
    for (let from = 0; from < shown.length; from += across) {
      const titles = shown.slice(from, from + across).map(([workload]) =>
        (shown.length > 1 ? folded(workload, Math.floor(wide / (LETTER + 0.5))) : []));
      top += 6 + 15 * Math.max(...titles.map((each) => each.length));
      titles.forEach((told, place) => {
        const start = place * (wide + gap);
        told.forEach((each, index) => picture.append(
          label(start, top - 6 - 15 * (told.length - 1 - index), each, { "font-weight": 600 })));
        panel(picture, a, b, shown[from + place][1], best[from + place], { start, top, wide, high });
      });
      top += high + 46;
    }
    for (const [key, value] of Object.entries({ width, height: top, viewBox: `0 0 ${width} ${top}` })) picture.setAttribute(key, value);
    return picture;
  }

  function panel(picture, a, b, points, best, place) {
    const whole = points.length <= data.fewPoints ? points : best;
    const [xScale, yScale] = [["a", a], ["b", b]].map(([which, column]) => frontScale(
      [...points.map((point) => ({ mean: point[which].mean, half: null })), ...whole.map((point) => point[which])], column.scale));
    const numbers = ticks(yScale, 5);
    const box = { left: place.start + 26 + LETTER * widest(numbers), right: place.start + place.wide - 10, top: place.top,
                  bottom: place.top + place.high };
    const x = placer(xScale, box.left, box.right), y = placer(yScale, box.bottom, box.top);
    const group = svg("g", { class: "panel" });
    leftAxis(group, y, numbers, box, true);
    leftTitle(group, b.title, place.start + 12, box);
    lowerAxis(group, x, xScale, box, a.title);
    const chosen = new Set(best);
    const others = points.filter((point) => !chosen.has(point));
    const every = Math.ceil(others.length / MOST_POINTS);
    const cutX = (value) => Math.min(box.right, Math.max(box.left, x(a.scale * value)));
    const cutY = (value) => Math.min(box.bottom, Math.max(box.top, y(b.scale * value)));
    for (const point of whole) {
      const px = x(a.scale * point.a.mean), py = y(b.scale * point.b.mean);
      const thin = { "stroke-width": 0.8, opacity: 0.6 };
      if (point.a.half) group.append(line(cutX(point.a.mean - point.a.half), py, cutX(point.a.mean + point.a.half), py, thin));
      if (point.b.half) group.append(line(px, cutY(point.b.mean - point.b.half), px, cutY(point.b.mean + point.b.half), thin));
    }
    group.append(steps(best, a, b, x, y));
    others.filter((_, at) => at % every === 0).forEach((point) => group.append(dot(point, a, b, x, y, 0, 4, "var(--grid)")));
    best.forEach((point) => {
      const found = dot(point, a, b, x, y, 3, 5, "var(--s6)");
      found.classList.add("best");
      group.append(found);
    });
    picture.append(group);
  }

  /** Logarithmic if the values span much, else fitted to them. */
  function frontScale(points, factor) {
    const found = scaleFor(points, factor);
    return found.kind === "logarithmic" ? found : scaleFor(points, factor, "fitted");
  }

  function dot(point, a, b, x, y, shape, radius, fill) {
    const names = Object.entries(point.one.values).map(([name, value]) => `${name} ${value}`).join(", ");
    const told = `${names}: ${a.words} ${words(a, point.a)}, ${b.words} ${words(b, point.b)} (n = ${point.a.n})`;
    return marker(x(a.scale * point.a.mean), y(b.scale * point.b.mean), shape, point.one.lost, told, radius, fill);
  }

  /** The front as steps: beyond a corner nothing is better in both. */
  function steps(best, a, b, x, y) {
    const path = best.map((point, at) => {
      const px = x(a.scale * point.a.mean).toFixed(1), py = y(b.scale * point.b.mean).toFixed(1);
      return at ? `H${px}V${py}` : `M${px} ${py}`;
    });
    return svg("path", { d: path.join(""), fill: "none", stroke: "var(--s6)", "stroke-width": 1.6 });
  }

  function lowerAxis(group, x, scale, box, told) {
    let free = -Infinity;
    for (const value of ticks(scale, Math.max(3, (box.right - box.left) / 75))) {
      const at = x(value), half = (LETTER * plain(value).length) / 2;
      group.append(line(at, box.top, at, box.bottom, { stroke: "var(--grid)" }));
      if (at - half < free) continue;
      free = at + half + 6;
      group.append(label(Math.min(at, box.right + 9 - half), box.bottom + 17, plain(value), { "text-anchor": "middle" }));
    }
    group.append(line(box.left, box.bottom, box.right, box.bottom));
    group.append(label((box.left + box.right) / 2, box.bottom + 36, told, { "text-anchor": "middle" }));
  }

  return {
    start() {
      if (!data.first.a) {
        holder.closest("section").hidden = true;
        return;
      }
      controls();
      draw();
      follow(holder, draw);
    },
  };
})();
