// The counts of a search: fetched into the page answer by answer, until all is counted or stopped.
// @ts-check

/** After each state of the figures. */
const PIECE_END = "<!--piece-->";

/** @type {AbortController | null} */
let counting = null;
/** @type {string | null} What came while bars were chosen. */
let held = null;

/** @returns {Request} what a link or a form of counts asks for. */
function requestOf(/** @type {Element} */ way) {
  const headers = { accept: "text/html", "x-logship-refresh": "1" };
  if (way instanceof HTMLAnchorElement) return new Request(way.href, { headers });
  const form = /** @type {HTMLFormElement} */ (way);
  const fields = /** @type {[string, string][]} */ ([...new FormData(form)]);
  return new Request(form.action, { method: "POST", headers, body: new URLSearchParams(fields) });
}

/** Figures and values take the place of those before; what had the focus has it again. */
function show(/** @type {string} */ html) {
  held = document.querySelector(".chart.choosing") === null ? null : html;
  if (held !== null) return;
  for (const next of new DOMParser().parseFromString(html, "text/html").querySelectorAll("#figures, #facets")) {
    const before = document.getElementById(next.id);
    const at = document.activeElement;
    const path = before?.contains(at) ? (at?.getAttribute("href") ?? "") : null;
    // On a narrow screen, values stand before the hits: at first they are folded.
    const isOpen = before?.querySelector(".facet")
      ? before.querySelector("details[open]") !== null
      : matchMedia("(min-width: 62rem)").matches;
    before?.replaceWith(next);
    if (next.id === "facets") next.querySelector("details")?.toggleAttribute("open", isOpen);
    next.dispatchEvent(new Event("fresh", { bubbles: true }));
    if (path === null) continue;
    const again = [...next.querySelectorAll("a")].find((link) => path !== "" && link.getAttribute("href") === path);
    const focus = again ?? next.querySelector("figure");
    if (focus instanceof HTMLElement) focus.focus({ preventScroll: true });
  }
}

/** Shows the answer as it comes. @returns {Promise<void>} when it has ended. */
async function shown(/** @type {Response} */ answer) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ; ) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return;
    const pieces = (text + value).split(PIECE_END);
    text = pieces.pop() ?? "";
    const last = pieces.pop();
    if (last !== undefined) show(last);
  }
}

/** Counts, and goes on by itself where an answer was not all. */
async function follow(/** @type {Element} */ first) {
  const button = document.querySelector("[data-stop]");
  if (counting !== null || !(button instanceof HTMLElement)) return;
  counting = new AbortController();
  const { signal } = counting;
  button.hidden = false;
  let way = first;
  try {
    for (let next = /** @type {Element | null} */ (way); next !== null; ) {
      way = next;
      const answer = await fetch(requestOf(way), { signal });
      // Signed out meanwhile.
      if (answer.redirected) return location.reload();
      await shown(answer);
      next = document.querySelector('#figures [data-go="auto"]');
      if (next === way) throw new Error("the answer broke off");
    }
  } catch {
    // Stopped, or the connection broke: from here it goes on by a click.
    way.setAttribute("data-go", "asked");
    if (!way.isConnected) document.getElementById("figures")?.append(way);
  }
  counting = null;
  button.hidden = true;
  const said = document.querySelector("[data-said]");
  if (said !== null) said.textContent = document.querySelector("#figures .total")?.textContent ?? "";
}

for (const name of ["click", "submit"]) {
  document.addEventListener(name, (event) => {
    if (!(event.target instanceof Element)) return;
    if (name === "click" && event.target.matches("[data-stop]")) counting?.abort();
    const way = event.target.closest(name === "click" ? "a[data-go]" : "form[data-go]");
    const isOwn = event instanceof MouseEvent && (event.ctrlKey || event.metaKey || event.shiftKey);
    if (way === null || isOwn || document.getElementById("figures") === null) return;
    event.preventDefault();
    follow(way);
  });
}
for (const name of ["pointerup", "pointercancel", "keyup", "focusout"]) {
  document.addEventListener(name, () => held !== null && show(held));
}

/** When all of the page is there: two searches of one caller run at once, and hits come first. */
function begin() {
  const way = document.querySelector('#figures [data-go="auto"]');
  const hits = document.getElementById("hits");
  if (way !== null && (hits === null || hits.querySelector("[data-end]") !== null)) follow(way);
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();
