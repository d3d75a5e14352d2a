// The page Find as a dialog, from every page: `/`, or Ctrl or Cmd and K.
// @ts-check

/** How long typing rests before it is asked, in ms. */
const REST_MS = 120;

/** @type {{ dialog: HTMLDialogElement, begin: () => void } | null} */
let finder = null;

function finderOf() {
  const dialog = document.createElement("dialog");
  dialog.className = "finder";
  dialog.setAttribute("aria-label", "Find");
  const input = document.createElement("input");
  // Not of the type search: there Escape clears the text before it closes the dialog.
  input.type = "text";
  input.placeholder = "Page, job, Worker, or text in records";
  input.setAttribute("aria-label", input.placeholder);
  const found = document.createElement("div");
  dialog.append(input, found);
  document.body.append(dialog);
  let asked = new AbortController();
  let rests = 0;
  /** What the list is of; null: nothing yet. */
  let shown = /** @type {string | null} */ (null);
  const ask = async () => {
    // Another answer would take the focus from a link of this one.
    clearTimeout(rests);
    asked.abort();
    asked = new AbortController();
    const wanted = input.value;
    const to = `/find?${new URLSearchParams({ q: wanted })}`;
    try {
      const answer = await fetch(to, { headers: { accept: "text/html" }, signal: asked.signal });
      // Signed out meanwhile.
      if (answer.redirected) return location.reload();
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      found.replaceChildren(...[page.getElementById("found")].filter((each) => each !== null));
      shown = wanted;
    } catch {
      // Typed on, or offline: Enter opens the page itself.
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(rests);
    rests = setTimeout(ask, REST_MS);
  });
  const openFirst = async () => {
    // The list may still be that of what was typed before.
    if (shown !== input.value) await ask();
    if (shown === input.value) found.querySelector("a")?.click();
  };
  dialog.addEventListener("keydown", (event) => {
    const ring = [input, ...found.querySelectorAll("a")];
    const at = ring.findIndex((each) => each.contains(document.activeElement));
    if (event.key === "ArrowDown") ring[(at + 1) % ring.length]?.focus();
    else if (event.key === "ArrowUp") ring.at(at - 1)?.focus();
    else if (event.key === "Enter" && at === 0) openFirst();
    else return;
    event.preventDefault();
  });
  // Beside the dialog.
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  const begin = () => {
    input.value = "";
    shown = null;
    found.replaceChildren();
    ask();
  };
  return { dialog, begin };
}

function openFinder() {
  finder ??= finderOf();
  if (finder.dialog.open) return;
  finder.dialog.showModal();
  finder.begin();
}

document.addEventListener("keydown", (event) => {
  const isChord = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
  const isSlash = event.key === "/" && document.body.dataset.slash === "find";
  // For a moment, the focus stays in a dialog that has closed.
  const isTyping =
    document.activeElement?.matches(":is(input, select, textarea, [contenteditable]):not(dialog:not([open]) *)") ===
    true;
  if (!isChord && (!isSlash || isTyping || event.ctrlKey || event.metaKey || event.altKey)) return;
  event.preventDefault();
  openFinder();
});

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element) || event.target.closest("[data-find]") === null) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openFinder();
});
