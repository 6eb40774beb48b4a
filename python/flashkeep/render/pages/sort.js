// Tables of the class `sortable`: a click on a head sorts the rows by that column, a second one the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], rows = [...table.tBodies[0].rows];
  const value = (row, at) => {
    const text = row.cells[at].textContent.trim(), number = Number(text.replaceAll(",", ""));
    return text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && at === 0);
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falls ? "ascending" : "descending");
      const way = falls ? 1 : -1;
      rows.sort((a, b) => {
        const [x, y] = [value(a, at), value(b, at)];
        if (x === null || y === null) return (x === null) - (y === null); // no value: last, either way
        return way * (x < y ? -1 : x > y ? 1 : 0);
      });
      table.tBodies[0].append(...rows);
    });
  });
}
