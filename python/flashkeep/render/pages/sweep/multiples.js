// Small multiples: a figure over one key, lines by another, panels by two more.

const LEAST = 130; // pixels that a panel is wide: two fit on a telephone, more are scrolled to

const multiples = (() => {
  const roles = ["x", "by", "column", "row"];
  const held = {};
  const holder = $("multiples");

  function controls() {
    const keys = [...dimensions.keys()].map((name) => [name, name]);
    fill($("figure"), figureOptions(), data.first.figure);
    for (const role of roles) {
      fill($(role), role === "x" && keys.length ? keys : [["", NONE], ...keys], data.first[role] ?? "");
      $(role).addEventListener("change", () => { apart(role); draw(); });
    }
    for (const id of ["figure", "scale"]) $(id).addEventListener("change", draw);
    $("save-multiples").addEventListener("click", () => save(holder, $("figure").value));
  }

  /** A key has one role: choosing it takes it from the others. */
  function apart(changed) {
    for (const role of roles) {
      if (role !== changed && $(role).value && $(role).value === $(changed).value) {
        const used = roles.map((each) => $(each).value);
        $(role).value = role === "x" ? [...dimensions.keys()].find((name) => !used.includes(name)) ?? $(role).value : "";
      }
    }
  }

  /** Drop-down lists for the keys that the chart does not show; first at the values with most lines, then most cells. */
  function holdControls(chosen, by) {
    const names = free(chosen);
    for (const name of Object.keys(held)) if (!names.includes(name)) delete held[name];
    for (const name of names) {
      const before = Object.entries(held).filter(([other]) => names.indexOf(other) < names.indexOf(name));
      const left = configurations.filter((one) => before.every(([other, value]) => one.values[other] === value));
      const score = (value) => {
        const those = left.filter((one) => one.values[name] === value);
        return those.length + (those.length && 1e6 * new Set(those.map((one) => one.values[by])).size);
      };
      if (!score(held[name])) held[name] = dimensions.get(name).values.reduce((best, each) => (score(each) > score(best) ? each : best));
    }
    $("held").replaceChildren(...names.map((name) => {
      const select = make("select", { "data-held": name, onchange: () => { held[name] = select.value; draw(); } });
      fill(select, dimensions.get(name).values.map((value) => [value, value]), held[name]);
      return make("label", {}, `held: ${name} `, select);
    }));
  }

  const kept = () => configurations.filter((one) => Object.entries(held).every(([name, value]) => one.values[name] === value));

  /** The values of a key, as many as fit; of panels only those with cells. Lines keep their places in all charts. */
  function valuesOf(name, most, present = null) {
    if (!name) return [null];
    return dimensions.get(name).values.filter((value) => !present || present.has(value)).slice(0, most);
  }

  /** The panels with their lines, and the configurations in them. */
  function panelsOf(figure, keys) {
    const found = kept().map((one) => [one, estimate(figure, one)]).filter(([, told]) => told !== null);
    const present = (name) => new Set(found.map(([one]) => one.values[name]));
    const rows = valuesOf(keys.row, data.mostRows, present(keys.row));
    const across = valuesOf(keys.column, data.mostColumns, present(keys.column));
    const lines = valuesOf(keys.by, data.mostLines);
    const order = new Map((keys.x ? dimensions.get(keys.x).values : [""]).map((value, at) => [value, at]));
    const shown = [], points = [];
    const panels = rows.map((row) => across.map((column) => ({
      row, column, lines: lines.map((by) => ({ by, points: [] })),
    })));
    for (const [one, told] of found) {
      const place = [rows.indexOf(keys.row ? one.values[keys.row] : null),
                     across.indexOf(keys.column ? one.values[keys.column] : null),
                     lines.indexOf(keys.by ? one.values[keys.by] : null)];
      if (place.some((at) => at < 0)) continue;
      const x = keys.x ? one.values[keys.x] : "";
      panels[place[0]][place[1]].lines[place[2]].points.push({ x, told, one });
      shown.push(one);
      points.push(told);
    }
    for (const panel of panels.flat()) {
      for (const each of panel.lines) each.points.sort((a, b) => order.get(a.x) - order.get(b.x));
    }
    return { panels, lines, shown, points };
  }

  function draw() {
    const keys = Object.fromEntries(roles.map((role) => [role, $(role).value]));
    const figure = columns.get($("figure").value);
    holdControls(roles.map((role) => keys[role]).filter(Boolean), keys.by);
    const found = panelsOf(figure, keys);
    if (!found.points.length) {
      holder.replaceChildren(make("p", { class: "faint" }, "No cell has this figure with these keys."));
      $("multiples-told").textContent = "";
      $("multiples-numbers").replaceChildren();
      return;
    }
    const scale = scaleFor(found.points, figure.scale, $("scale").value);
    legend(keys.by, found.lines, found.panels);
    holder.replaceChildren(chart(figure, keys, found, scale));
    $("multiples-told").textContent = caption(figure, keys, scale, found);
    const names = [...dimensions.keys()];
    $("multiples-numbers").replaceChildren(listed(found.shown.slice(0, 1000), names, [figure]));
  }

  function caption(figure, keys, scale, found) {
    const parts = [`${figure.words}${keys.x ? ` over ${keys.x}` : ""}${direction(figure)}`];
    const still = Object.entries(held).map(([name, value]) => `${name} ${value}`);
    if (still.length) parts.push(`held: ${still.join(", ")}`);
    parts.push(seedsTold);
    if (scale.kind !== "zero") parts.push(scale.kind === "logarithmic" ? "logarithmic axis" : "the axis does not begin at zero");
    if (found.shown.some((one) => one.lost)) parts.push("hollow: pages were lost");
    for (const [role, most, what] of [["by", data.mostLines, "lines"], ["row", data.mostRows, "rows"],
                                      ["column", data.mostColumns, "columns"]]) {
      const all = keys[role] ? dimensions.get(keys[role]).values.length : 0;
      if (all > most) parts.push(`${most} of ${all} values of ${keys[role]} are shown as ${what}`);
    }
    return `${parts.join("; ")}.`;
  }

  function legend(by, lines, panels) {
    const used = new Set(panels.flat().flatMap((panel) => panel.lines.map((each, at) => (each.points.length ? at : -1))));
    const joined = !$("x").value || dimensions.get($("x").value).numeric;
    const entries = by ? lines.map((value, at) => [value, at]).filter(([, at]) => used.has(at)) : [];
    $("legend").replaceChildren(...(by ? [make("b", {}, by)] : []), ...entries.map(([value, at]) => {
      const sample = svg("svg", { width: 34, height: 14, "aria-hidden": "true" });
      if (joined) sample.append(stroke([[1, 7], [33, 7]], at));
      sample.append(marker(17, 7, at, false, value));
      return make("span", {}, sample, ` ${value}`);
    }));
  }

  function stroke(points, at) {
    return svg("polyline", { points: points.map((point) => point.map((each) => each.toFixed(1)).join(",")).join(" "),
                             fill: "none", stroke: colour(at), "stroke-width": 1.7, "stroke-dasharray": DASHES[look(at)] });
  }

  function chart(figure, keys, found, scale) {
    const numbers = ticks(scale, 5);
    const left = 26 + LETTER * widest(numbers), gap = 16, below = 46, panelHeight = 170;
    const across = found.panels[0].length, rows = found.panels.length;
    const width = Math.max(holder.clientWidth, left + across * LEAST + (across - 1) * gap);
    const panelWidth = (width - left - (across - 1) * gap - 8) / across;
    const titles = found.panels.map((row, at) => row.map((panel) => title(panel, keys, at, panelWidth)));
    const axis = keyAxis(keys.x, panelWidth);
    let top = 4;
    const picture = svg("svg", { role: "img", "aria-label": `${figure.words} over ${keys.x || "all"}` });
    found.panels.forEach((row, at) => {
      top += 15 * Math.max(...titles[at].map((each) => each.length), 0) + 4;
      row.forEach((panel, place) => {
        const start = left + place * (panelWidth + gap);
        const box = { left: start, right: start + panelWidth, top, bottom: top + panelHeight };
        const group = svg("g", { class: "panel" });
        titles[at][place].forEach((told, index) => group.append(
          label(start, top - 6 - 15 * (titles[at][place].length - 1 - index), told, { "font-weight": 600 })));
        const y = placer(scale, box.bottom, box.top);
        leftAxis(group, y, numbers, box, place === 0);
        drawLines(group, panel, figure, keys, axis, box, y, found.lines.length);
        drawKeys(group, axis, box, at === rows - 1, keys.x);
        if (place === 0) leftTitle(group, figure.title, 12, box);
        picture.append(group);
      });
      top += panelHeight + 8;
    });
    const height = top + below + 16 * (axis.rows - 1);
    for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) picture.setAttribute(key, value);
    return picture;
  }

  function title(panel, keys, at, wide) {
    const most = Math.floor(wide / (LETTER + 0.5));
    const column = keys.column && (at === 0 || keys.row) ? folded(named(keys.column, panel.column), most) : [];
    return keys.row ? [...column, ...folded(named(keys.row, panel.row), most)] : column;
  }

  /** A value with the last word of its key; workloads and drives are known by their names. */
  const named = (key, value) => (data.identity.includes(key) ? value : `${key.split(".").at(-1)} ${value}`);

  /** Where the values of a key are in a panel, and their labels. */
  function keyAxis(name, wide) {
    if (!name) return { values: [""], place: () => 0.5, numeric: false, rows: 1, labels: [[""]] };
    const one = dimensions.get(name), values = one.values;
    if (one.numeric) {
      const numbers = values.map(Number);
      const logarithmic = numbers[0] > 0 && numbers.at(-1) / numbers[0] >= data.logarithmicKey;
      const turn = logarithmic ? Math.log : (value) => value;
      const low = turn(numbers[0]), span = turn(numbers.at(-1)) - low || 1;
      return { values, numeric: true, rows: 1, labels: numbers.map((value) => [plain(value)]),
               place: (value) => 0.05 + (0.9 * (turn(Number(value)) - low)) / span };
    }
    const most = Math.max(4, Math.floor(wide / values.length / LETTER) - 1);
    const labels = values.map((value) => folded(value, most));
    const at = new Map(values.map((value, index) => [value, (index + 0.5) / values.length]));
    return { values, numeric: false, place: (value) => at.get(value), rows: Math.max(...labels.map((each) => each.length)), labels };
  }

  function drawKeys(group, axis, box, named, name) {
    group.append(line(box.left, box.bottom, box.right, box.bottom));
    let free = -Infinity;
    axis.values.forEach((value, at) => {
      const x = box.left + axis.place(value) * (box.right - box.left);
      const half = (LETTER * Math.max(...axis.labels[at].map((each) => each.length))) / 2;
      group.append(line(x, box.bottom, x, box.bottom + 4));
      if (!named || x - half < free) return;
      free = x + half + 4;
      axis.labels[at].forEach((told, row) => group.append(
        label(Math.min(x, box.right + 7 - half), box.bottom + 17 + 15 * row, told, { "text-anchor": "middle" })));
    });
    if (named && name) {
      group.append(label((box.left + box.right) / 2, box.bottom + 36 + 15 * (axis.rows - 1), name, { "text-anchor": "middle" }));
    }
  }

  function drawLines(group, panel, figure, keys, axis, box, y, count) {
    panel.lines.forEach(({ points, by }, at) => {
      const wide = box.right - box.left;
      const step = axis.numeric ? 0 : Math.min(14, (0.6 * wide) / axis.values.length / count);
      const places = points.map(({ x, told }) => [
        box.left + axis.place(x) * wide + (at - (count - 1) / 2) * step, y(figure.scale * told.mean)]);
      if (axis.numeric && points.length > 1) group.append(stroke(places, at));
      points.forEach(({ x, told, one }, index) => {
        const [px, py] = places[index];
        if (told.half) whisker(group, px, told, figure, y, box, at);
        const names = [keys.by && `${keys.by} ${by}`, keys.x && `${keys.x} ${x}`].filter(Boolean).join(", ");
        group.append(marker(px, py, at, one.lost, `${names}: ${words(figure, told)} (n = ${told.n})`));
      });
    });
    if (!panel.lines.some((each) => each.points.length)) {
      group.append(label((box.left + box.right) / 2, (box.top + box.bottom) / 2, "no cells", { "text-anchor": "middle" }));
    }
  }

  function whisker(group, x, told, figure, y, box, at) {
    const cut = (value) => Math.min(box.bottom, Math.max(box.top, y(figure.scale * value)));
    const low = cut(told.mean - told.half), high = cut(told.mean + told.half);
    const look = { stroke: colour(at), "stroke-width": 1.2 };
    group.append(line(x, low, x, high, look), line(x - 3, low, x + 3, low, look), line(x - 3, high, x + 3, high, look));
  }

  return { start() { controls(); draw(); follow(holder, draw); } };
})();
