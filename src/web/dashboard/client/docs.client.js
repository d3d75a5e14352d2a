// The API reference: a search within it, and a link to an entry opens the entry.
// @ts-check

/** Up to so many matches are opened. */
const OPENED_MAX = 3;

const field = document.querySelector("input[type=search]");
const said = document.querySelector("[role=status]");
const entries = [...document.querySelectorAll("main section > section")].map((section) => ({
  section,
  text: (section.textContent ?? "").toLowerCase(),
  link: document.querySelector(`nav a[href="#${CSS.escape(section.id)}"]`)?.parentElement ?? null,
}));

function seek() {
  if (!(field instanceof HTMLInputElement)) return;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries.filter(({ text }) => words.every((word) => text.includes(word)));
  for (const { section, link } of entries)
    for (const each of [section, link])
      each?.toggleAttribute("hidden", !found.some((entry) => entry.section === section));
  const isAsked = words.length > 0;
  for (const { section } of found) open(section, isAsked && found.length <= OPENED_MAX);
  for (const part of document.querySelectorAll("main > section"))
    part.toggleAttribute("hidden", isAsked && part.querySelector(":scope > section:not([hidden])") === null);
  if (said !== null) said.textContent = isAsked ? `${found.length} found` : "";
}

function open(/** @type {Element | null} */ section, /** @type {boolean} */ isOpen) {
  const details = section?.querySelector("details");
  if (details) details.open = isOpen;
}

/** Shows the entry that the address names, whatever is searched for. */
function follow() {
  const target = document.querySelector(":target");
  if (!target?.closest("main section")) return;
  if (target.closest("[hidden]") !== null && field instanceof HTMLInputElement) {
    field.value = "";
    seek();
  }
  open(target.closest("main section > section"), true);
  target.scrollIntoView();
}

if (field instanceof HTMLInputElement) {
  field.closest("[hidden]")?.removeAttribute("hidden");
  field.addEventListener("input", seek);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === field) return;
    field.focus();
    event.preventDefault();
  });
  // The browser may have kept what was typed.
  seek();
}
addEventListener("hashchange", follow);
follow();
