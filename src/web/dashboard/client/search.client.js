// Keys of the page Search: / to the text, j and k to the next and previous record, Esc closes one;
// and its buttons. It may run before all of the page is there.
// @ts-check

/** @returns {HTMLElement[]} */
const rows = () =>
  [...document.querySelectorAll("details.record > summary")].filter((each) => each instanceof HTMLElement);

/** @returns {boolean} */
function isTyping(/** @type {Element | null} */ at) {
  return at?.matches("input, select, textarea, [contenteditable]") === true;
}

function move(/** @type {number} */ by) {
  const all = rows();
  const at = all.findIndex(
    (row) => row === document.activeElement || row.parentElement?.contains(document.activeElement),
  );
  const next = all[at === -1 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  if (next === undefined) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  // What is open follows.
  const open = document.querySelector("details.record[open]");
  if (open !== null && next.parentElement instanceof HTMLDetailsElement) next.parentElement.open = true;
}

function close() {
  const open = document.querySelector("details.record[open]");
  if (!(open instanceof HTMLDetailsElement)) return;
  open.open = false;
  const row = open.querySelector("summary");
  if (row instanceof HTMLElement) row.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return close();
  if (isTyping(document.activeElement)) return;
  if (event.key === "/") document.getElementById("field-q")?.focus();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  // The search ends with the page.
  if (event.target.matches("[data-halt]")) window.stop();
  if (event.target.matches("[data-close]")) close();
});

/** The open record is in the address, as the search that finds it. */
function showAddress() {
  /** @type {HTMLAnchorElement | null} */
  const link = document.querySelector("details.record[open] a.record-link");
  const hash = link === null || link.search === location.search ? "" : link.search.replace("?", "#");
  history.replaceState(null, "", `${location.pathname}${location.search}${hash}`);
}

/** Opens the record of the address; where it is not on the page any more, its search shows it. */
function openOfAddress() {
  const path = location.hash.replace("#", "/search?");
  document.addEventListener("toggle", showAddress, { capture: true });
  if (!path.includes("since=")) return;
  const links = [...document.querySelectorAll("a.record-link")];
  const found = links.find((link) => link.getAttribute("href") === path)?.closest("details");
  if (found == null) return location.replace(path);
  found.open = true;
  found.scrollIntoView({ block: "nearest" });
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", openOfAddress);
else openOfAddress();

/** Times can be entered in the time zone of the browser, which the server does not know. */
function offerZone() {
  const zones = document.getElementById("field-zone");
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!(zones instanceof HTMLSelectElement) || own === "UTC") return;
  if (![...zones.options].some(({ value }) => value === own)) zones.add(new Option(own, own));
}
offerZone();
for (const name of ["DOMContentLoaded", "change"]) document.addEventListener(name, offerZone);
