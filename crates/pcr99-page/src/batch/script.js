// Sorts the table when a head is clicked, and filters its rows by the typed words.
(function () {
  "use strict";
  const table = document.getElementById("pairs");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;

  function sort(button, column) {
    const head = button.closest("th");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const number = button.dataset.kind === "number";
    const key = (row) => (number ? row.cells[column].dataset.key : row.cells[column].textContent);
    // Rows without a value stay at the end; equal rows keep their order.
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return (down ? -1 : 1) * (number ? x - y : compare(x, y));
    };
    body.append(...[...rows].sort(order));
  }

  [...table.tHead.querySelectorAll("button")].forEach((button, column) => {
    button.addEventListener("click", () => sort(button, column));
  });

  const find = document.getElementById("find");
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    document.getElementById("found").textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
})();
