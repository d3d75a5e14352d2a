// On every page; nothing of it is needed to use one.
// @ts-check

/** The reader's own time, on hover, of every time that stands there in UTC. */
function localTimes(/** @type {ParentNode} */ root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.getAttribute("datetime") ?? "");
    if (Number.isNaN(at.getTime())) continue;
    const local = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
    time.setAttribute("title", `${local} (your time)\n${at.toISOString()}`);
  }
}

/** Buttons that copy the text they belong to; without a script they are not there. */
function copyButtons(/** @type {ParentNode} */ root) {
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (root.querySelectorAll("button[data-copy]"))) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy ?? "")?.textContent ?? "";
      const label = button.textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy it by hand";
      }
      setTimeout(() => {
        button.textContent = label;
      }, 2000);
    });
  }
}

/** Where nobody has moved, typed or scrolled for so long, in ms… */
const IDLE_MS = 600_000;
/** …the page is asked for so often and no more, in ms: every look at it costs requests, for as long as it is open on some screen. */
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
 * Parts that change by themselves: `data-refresh` has the seconds. The page is asked for again, saying so, as the parts that stay may be left out; and each such part replaced by the one with its id; one
 * that has no `data-refresh` any more is done. Nobody is interrupted in the middle of one, nothing is asked for a page that nobody sees, and less for one that nobody uses.
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
      // Signed out meanwhile: the page that says so is not this one.
      if (answer.redirected) return location.reload();
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of parts) {
        const next = fresh.getElementById(part.id);
        if (next === null || part.contains(document.activeElement)) continue;
        part.replaceWith(next);
        enhance(next);
      }
    } catch {
      // Offline for a moment: the next look may be answered.
    }
    refreshing();
  }, seconds * 1000);
}

/** What is shown once is not made once more by a reload: that leads to where the page's link leads. */
function shownOnce() {
  const on = document.querySelector("a[data-reload]")?.getAttribute("href");
  if (on) history.replaceState(null, "", on);
}

function enhance(/** @type {ParentNode} */ root) {
  localTimes(root);
  copyButtons(root);
}

enhance(document);
shownOnce();
refreshing();
