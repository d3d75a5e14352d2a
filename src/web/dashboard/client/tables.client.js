// Tables that sort by a click on a column's name. Not those that continue on another page.
// @ts-check

/** What a unit multiplies by, so that `2 h` sorts after `90 s`. */
const UNITS = new Map(
  Object.entries({ ms: 0.001, min: 60, h: 3_600, d: 86_400, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 }),
);

/** @type {Map<string, { column: number, up: boolean }>} by the panel and the table in it. */
const sorted = new Map();

/** @returns {number | string} the time of a cell, its number, or else its text. */
function sortValue(/** @type {Element | undefined} */ cell) {
  const time = cell?.querySelector("time")?.getAttribute("datetime");
  if (time) return Date.parse(time);
  const text = (cell?.textContent ?? "").trim();
  const number = /^(<|>|\$|< \$)?\s*(-?[\d,]+(?:\.\d+)?)(?:\s(\p{L}+))?/u.exec(text);
  if (number === null) return text.toLowerCase();
  return Number(number[2]?.replaceAll(",", "")) * (UNITS.get(number[3] ?? "") ?? 1);
}

/** Numbers before texts; what is equal stays in its order. */
function compareCells(/** @type {number | string} */ a, /** @type {number | string} */ b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b);
  return typeof a === "number" ? -1 : 1;
}

function sortTable(/** @type {HTMLTableElement} */ table, /** @type {number} */ column, /** @type {boolean} */ up) {
  const body = table.tBodies[0];
  const rows = [...(body?.rows ?? [])].map((row) => ({ row, value: sortValue(row.cells[column]) }));
  rows.sort((a, b) => (up ? 1 : -1) * compareCells(a.value, b.value));
  body?.append(...rows.map(({ row }) => row));
  for (const [i, head] of [...(table.tHead?.rows[0]?.cells ?? [])].entries()) {
    if (i === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}

export function sortable(/** @type {ParentNode} */ root) {
  for (const [at, table] of [...root.querySelectorAll("table.list")].entries()) {
    if (!(table instanceof HTMLTableElement) || (table.tBodies[0]?.rows.length ?? 0) < 3) continue;
    const panel = table.closest("section[id]");
    if (panel?.querySelector(".pager") != null) continue;
    const name = `${panel?.id} ${table.caption?.textContent ?? at}`;
    for (const [column, head] of [...(table.tHead?.rows[0]?.cells ?? [])].entries()) {
      if (head.querySelector(".unseen, button") !== null) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      button.addEventListener("click", () => {
        const isFigure = head.classList.contains("figures");
        const before = head.getAttribute("aria-sort");
        // The largest number first.
        const up = before === null ? !isFigure : before === "descending";
        sorted.set(name, { column, up });
        sortTable(table, column, up);
      });
      head.append(button);
    }
    const before = sorted.get(name);
    if (before !== undefined) sortTable(table, before.column, before.up);
  }
}
