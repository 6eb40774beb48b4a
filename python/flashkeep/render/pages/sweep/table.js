// The table of all cells: sorted by a click on a heading, filtered by text and by values, a page of rows at a time.

const cells = (() => {
  const PAGE = 100;
  const state = { shown: data.first.shown.filter((name) => columns.has(name)), sort: null, down: false, page: 0, wanted: "", values: {} };
  const texts = data.columns.filter((column) => column.role !== "figure");
  let rows = [];
  let searched = null;

  function controls() {
    const filtered = data.columns.filter((column) => (column.role === "key" || column.name === "status")
      && column.levels.length > 1 && column.levels.length <= 300);
    $("filters").replaceChildren(...filtered.map((column) => {
      const select = make("select", { "data-filter": column.name, onchange: () => {
        state.values[column.name] = select.value;
        renew();
      } });
      const levels = column.levels.map((level, at) => [String(at), level]);
      if (column.numbers && column.numbers.every((number) => number !== null)) {
        levels.sort((one, other) => column.numbers[one[0]] - column.numbers[other[0]]);
      }
      fill(select, [["", "any"], ...levels], "");
      return make("label", {}, `${column.name} `, select);
    }));
    $("search").addEventListener("input", () => { state.wanted = $("search").value.trim().toLowerCase(); renew(); });
    $("before").addEventListener("click", () => turn(-1));
    $("after").addEventListener("click", () => turn(1));
    picker();
  }

  function turn(by) {
    state.page += by;
    body();
  }

  /** Check boxes that choose the columns. */
  function picker() {
    const boxes = data.columns.map((column) => {
      const box = make("input", { type: "checkbox", "data-column": column.name, onchange: () => {
        const kept = new Set(state.shown);
        if (box.checked) kept.add(column.name);
        else kept.delete(column.name);
        state.shown = data.columns.map((each) => each.name).filter((name) => kept.has(name));
        head();
        body();
      } });
      box.checked = state.shown.includes(column.name);
      const told = column.words === column.name ? column.name : `${column.words} (${column.name})`;
      return make("label", { "data-words": told.toLowerCase() }, box, ` ${told}`);
    });
    $("columns").replaceChildren(...boxes);
    $("find-column").addEventListener("input", () => {
      const wanted = $("find-column").value.trim().toLowerCase();
      for (const each of boxes) each.hidden = !each.dataset.words.includes(wanted);
    });
  }

  /** What a row is searched by: all texts of it. */
  function searchable() {
    searched ??= Array.from({ length: data.rows }, (_, row) => texts.map((column) => text(column, row)).join("\n").toLowerCase());
    return searched;
  }

  function renew() {
    const chosen = Object.entries(state.values).filter(([, value]) => value !== "")
      .map(([name, value]) => [columns.get(name).codes, Number(value)]);
    const words = state.wanted ? state.wanted.split(/\s+/) : [];
    const found = words.length ? searchable() : null;
    rows = [];
    for (let row = 0; row < data.rows; row++) {
      if (chosen.every(([codes, value]) => codes[row] === value) && words.every((word) => found[row].includes(word))) rows.push(row);
    }
    if (state.sort) sort();
    state.page = 0;
    body();
  }

  /** What a column is sorted by: numbers, or texts; a missing value is null. */
  function keyOf(column) {
    if (column.role === "figure") return (row) => column.values[row];
    const numeric = column.numbers && column.numbers.some((number) => number !== null);
    if (numeric) return (row) => column.numbers[column.codes[row]];
    return (row) => (column.codes[row] < 0 ? null : column.levels[column.codes[row]]);
  }

  /** Sorts the rows; missing values come last, and equal ones stay in the order of the table. */
  function sort() {
    const key = keyOf(columns.get(state.sort)), way = state.down ? -1 : 1;
    rows.sort((one, other) => {
      const a = key(one), b = key(other);
      if (a === null || b === null) return (a === null) - (b === null) || one - other;
      return way * ((a > b) - (a < b)) || one - other;
    });
  }

  function head() {
    $("head").replaceChildren(make("tr", {}, ...state.shown.map((name) => {
      const column = columns.get(name), sorted = state.sort === name;
      const arrow = sorted ? (state.down ? " ↓" : " ↑") : "";
      const button = make("button", { type: "button", title: `${name}: sort`, "data-sort": name, onclick: () => {
        state.down = state.sort === name && !state.down;
        state.sort = name;
        sort();
        state.page = 0;
        head();
        body();
        document.querySelector(`#head [data-sort="${CSS.escape(name)}"]`).focus();
      } }, ...foldable(column.title ?? column.words), arrow);
      const way = sorted ? (state.down ? "descending" : "ascending") : "none";
      return make("th", { scope: "col", "aria-sort": way, class: column.role === "figure" ? "" : "left" }, button);
    })));
  }

  function body() {
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const from = state.page * PAGE, shown = rows.slice(from, from + PAGE);
    const list = state.shown.map((name) => columns.get(name));
    $("body").replaceChildren(...shown.map((row) => {
      const line = document.createElement("tr");
      for (const column of list) {
        const cell = document.createElement("td");
        if (column.role !== "figure") cell.className = column.role === "key" ? "key" : "key text";
        const told = text(column, row);
        cell.textContent = told;
        if (told.length > 40) cell.title = told;
        line.append(cell);
      }
      return line;
    }));
    const which = rows.length > PAGE ? `; rows ${whole.format(from + 1)} to ${whole.format(from + shown.length)}` : "";
    $("count").textContent = `${whole.format(rows.length)} of ${whole.format(data.rows)} cells${which}`;
    $("before").disabled = state.page === 0;
    $("after").disabled = state.page >= pages - 1;
    $("chosen").textContent = `Columns: ${state.shown.length} of ${data.columns.length}`;
  }

  return { start() { controls(); head(); renew(); } };
})();

for (const element of document.querySelectorAll(".scripted")) element.hidden = false;
for (const element of document.querySelectorAll(".unscripted")) element.hidden = true;
$("static")?.removeAttribute("open");
if (figures.length && configurations.length) {
  multiples.start();
  fronts.start();
} else {
  for (const element of document.querySelectorAll(".charts")) element.hidden = true;
}
cells.start();
