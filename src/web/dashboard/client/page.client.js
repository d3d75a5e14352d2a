// On every page. No page depends on it.
// @ts-check
import { readable } from "./charts.client.js";
import { sortable } from "./tables.client.js";

/** Shows the local time on hover, beside each UTC time. */
function localTimes(/** @type {ParentNode} */ root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.getAttribute("datetime") ?? "");
    if (Number.isNaN(at.getTime())) continue;
    const local = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
    time.setAttribute("title", `${local} (your time)\n${at.toISOString()}`);
  }
}

/** Where the choice between relative and absolute times is kept. */
const TIMES = "logship-times";

/** Shows `3 min ago` as the time itself, or back, as was chosen. */
function relativeTimes(/** @type {ParentNode} */ root) {
  const isAbsolute = localStorage.getItem(TIMES) === "absolute";
  for (const time of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("time[data-ago]"))) {
    const at = (time.getAttribute("datetime") ?? "").slice(0, 19).replace("T", " ");
    time.textContent = isAbsolute ? `${at} UTC` : (time.dataset.ago ?? "");
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "t" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.activeElement?.matches("input, select, textarea, [contenteditable]")) return;
  if (localStorage.getItem(TIMES) === null) localStorage.setItem(TIMES, "absolute");
  else localStorage.removeItem(TIMES);
  relativeTimes(document);
});

/** Copy buttons of a text or link elsewhere on the page, hidden without a script. */
function copyButtons(/** @type {ParentNode} */ root) {
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (root.querySelectorAll("button[data-copy]"))) {
    button.hidden = false;
    const label = [...button.childNodes];
    button.addEventListener("click", async () => {
      const from = document.getElementById(button.dataset.copy ?? "");
      const text = (from instanceof HTMLAnchorElement ? from.href : from?.textContent) ?? "";
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Copy it by hand";
      }
      setTimeout(() => {
        button.replaceChildren(...label);
      }, 2000);
    });
  }
}

/** Without input for this long, in ms… */
const IDLE_MS = 600_000;
/** …the page refreshes at most this often, in ms: each refresh costs requests. */
const IDLE_EVERY_MS = 60_000;

let actedMs = Date.now();
let askedMs = actedMs;
for (const name of ["pointermove", "pointerdown", "keydown", "scroll", "visibilitychange"]) {
  document.addEventListener(
    name,
    () => {
      actedMs = Date.now();
    },
    { capture: true, passive: true },
  );
}

/**
 * Refreshes the parts with `data-refresh`, in seconds. Fetches the page with a header that lets it
 * leave out other parts, and replaces each part by the one with the same id. Skips a part that has
 * the focus. A hidden page does not refresh, an idle one less often.
 */
function refreshing() {
  const parts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-refresh][id]")]);
  const seconds = Math.min(...parts.map((part) => Number(part.dataset.refresh)).filter((each) => each >= 1));
  if (!Number.isFinite(seconds)) return;
  setTimeout(async () => {
    if (document.hidden) {
      document.addEventListener("visibilitychange", refreshing, { once: true });
      return;
    }
    const now = Date.now();
    if (Math.abs(now - actedMs) >= IDLE_MS && Math.abs(now - askedMs) < IDLE_EVERY_MS) return refreshing();
    askedMs = now;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html", "x-logship-refresh": "1" } });
      // Signed out meanwhile.
      if (answer.redirected) return location.reload();
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of parts) {
        const next = fresh.getElementById(part.id);
        if (next === null || part.contains(document.activeElement)) continue;
        part.replaceWith(next);
        enhance(next);
      }
    } catch {
      // Offline: retried at the next refresh.
    }
    refreshing();
  }, seconds * 1000);
}

/** On a page that shows a secret once, a reload leads to the page of the link instead. */
function shownOnce() {
  const on = document.querySelector("a[data-reload]")?.getAttribute("href");
  if (on) history.replaceState(null, "", on);
}

function enhance(/** @type {ParentNode} */ root) {
  localTimes(root);
  relativeTimes(root);
  copyButtons(root);
  sortable(root);
  readable(root);
}

enhance(document);
// What another script put into the page.
document.addEventListener("fresh", ({ target }) => target instanceof Element && enhance(target));
shownOnce();
refreshing();
