// Records as they arrive: the page /live. assets.ts joins it with the files that it imports.
// @ts-check
import { Filter } from "./live-filter.client.js";
import { COUNTED, Link } from "./live-link.client.js";
import { element, List } from "./live-list.client.js";

/** @typedef {import("./live-link.client.js").Arrived} Arrived */
/** @typedef {ReturnType<List["entriesOf"]>[number]} Entry */
/**
 * What is not in the list yet; `judged`: by which filter and query, -1 by an unknown one.
 * @typedef {{ arrived: Arrived, judged: number }} Waiting
 */

/** Records drawn per frame. */
const DRAWN_AT_ONCE = 60;
/** Records kept during a pause; beyond them, the server is told to pause. */
const HELD_MAX = 500;
/** How often the server is told what is drawn, in ms; it limits the rate of messages. */
const TELL_MS = 250;
/** How often the counts are announced to screen readers, in ms. */
const SPEAK_MS = 5000;
/** How long a hidden page stays connected, in ms. */
const UNSEEN_MS = 600_000;
/** Records that an earlier socket brought may come again for so long, in ms. */
const AGAIN_MS = 60_000;
/** After a change of the filter, until objects are searched, in ms. */
const FILL_MS = 800;
/** After a failure to judge records, until the next try, in ms. */
const JUDGE_MS = 5000;
/** With so many in the list, no older ones are searched. */
const ENOUGH = 50;

/** @template {HTMLElement} T */
function part(/** @type {string} */ id, /** @type {new () => T} */ kind) {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${id}`);
}

const ui = {
  app: part("live-app", HTMLElement),
  form: /** @type {HTMLFormElement} */ (part("live-what", HTMLDetailsElement).closest("form")),
  query: part("field-q", HTMLInputElement),
  script: part("field-function", HTMLInputElement),
  outcome: part("field-outcome", HTMLSelectElement),
  search: part("live-search", HTMLAnchorElement),
  what: part("live-what", HTMLDetailsElement),
  wanted: part("live-wanted", HTMLElement),
  faults: part("live-faults", HTMLElement),
  tools: part("live-tools", HTMLElement),
  pause: part("live-pause", HTMLButtonElement),
  clear: part("live-clear", HTMLButtonElement),
  state: part("live-state", HTMLElement),
  held: part("live-held", HTMLElement),
  spoken: part("live-spoken", HTMLElement),
  empty: part("live-empty", HTMLElement),
  rows: part("live-rows", HTMLOListElement),
  record: part("live-record", HTMLDialogElement),
  close: part("live-close", HTMLButtonElement),
  newer: part("live-newer", HTMLButtonElement),
  older: part("live-older", HTMLButtonElement),
  whole: part("live-opened", HTMLElement),
};

const list = new List(ui.rows);
/**
 * In order of arrival; `number` follows the last record of each message.
 * @type {(Waiting | { number: number } | { gap: string })[]}
 */
let pending = [];
let isPaused = false;
let isDrawing = false;
let spokenOf = "";
/** How often filter or query changed. */
let judged = 0;
/** The server is judging records of the list. */
let isJudging = false;
/** The record in the dialog. @type {Entry | null} */
let opened = null;

const link = new Link({
  opened: () => {
    list.expectAgain(Date.now() - AGAIN_MS);
    fill();
  },
  gap(text) {
    pending.push({ gap: text });
    drawSoon();
  },
  records(records, number, isJudged) {
    pending.push(...records.map((arrived) => ({ arrived, judged: isJudged ? judged : -1 })), { number });
    if (isPaused) hold();
    drawSoon();
  },
  judged(faults, isNew) {
    filter.show(faults);
    ui.search.href = `/search?last=1h${filter.query.replace("?", "&")}`;
    if (faults.length > 0) return;
    showAddress();
    if (!isNew) return;
    judged += 1;
    judge();
    clearTimeout(filling);
    filling = setTimeout(fill, FILL_MS);
  },
  state(text, isOpen) {
    ui.state.textContent = text;
    ui.state.classList.toggle("live-off", !isOpen);
  },
});

function drawSoon() {
  if (isDrawing || isPaused || pending.length === 0) return;
  isDrawing = true;
  requestAnimationFrame(draw);
}

function draw() {
  isDrawing = false;
  if (isPaused) return;
  let [drawn, at] = [0, 0];
  for (; at < pending.length; at++) {
    const next = /** @type {typeof pending[number]} */ (pending[at]);
    // Numbers directly behind the last record need no drawing.
    if ("number" in next) link.drawn(next.number);
    else if (drawn === DRAWN_AT_ONCE) break;
    else if ("gap" in next) list.addGap(next.gap);
    else {
      list.add(next.arrived, next.judged, next.judged === judged);
      drawn += 1;
    }
  }
  pending = pending.slice(at);
  list.draw();
  judge();
  showCounts();
  drawSoon();
}

function showCounts() {
  for (const name of COUNTED) part(`live-${name}`, HTMLElement).textContent = link.total(name).toLocaleString("en");
  const { shown, all } = list.size;
  ui.empty.hidden = all > 0 || !isFilled;
  ui.wanted.textContent = all === shown ? "" : `${shown.toLocaleString("en")} of ${all.toLocaleString("en")} match`;
}

function speakCounts() {
  const words = { seen: "arrived", shown: "shown", filtered: "filtered", dropped: "skipped" };
  const text = Object.entries(words)
    .map(([name, word]) => `${link.total(/** @type {"seen"} */ (name))} ${word}`)
    .join(", ");
  if (text !== spokenOf) ui.spoken.textContent = text;
  spokenOf = text;
}

// Pause: what arrives is kept, up to a bound.

function hold() {
  for (const each of pending) if ("number" in each) link.drawn(each.number);
  pending = pending.filter((each) => !("number" in each));
  const held = pending.filter((each) => "arrived" in each).length;
  if (held >= HELD_MAX) link.pause(true);
  ui.held.textContent = `Paused: ${held.toLocaleString("en")} waiting${held >= HELD_MAX ? ", further ones are missed" : ""}`;
}

function setPaused(/** @type {boolean} */ paused) {
  isPaused = paused;
  ui.pause.textContent = paused ? "Resume" : "Pause";
  if (paused) return hold();
  ui.held.textContent = "";
  link.pause(false);
  drawSoon();
}

// Filter and query.

const filter = new Filter(ui, () => link.want(filter.wanted));

/** Asks which records of the list match that another query judged: the server has the evaluator. */
async function judge() {
  if (isJudging) return;
  isJudging = true;
  try {
    for (let entries = list.unjudged(judged); entries.length > 0; entries = list.unjudged(judged)) {
      const by = judged;
      const body = new URLSearchParams({
        csrf: String(new FormData(ui.form).get("csrf")),
        records: JSON.stringify(entries.map(({ arrived }) => arrived)),
        ...link.wanted,
      });
      const answer = await fetch("/live/judge", { method: "POST", body });
      if (!answer.ok && answer.status !== 413) throw new Error(answer.statusText);
      // One that is too large is hidden.
      const match = answer.ok ? await answer.json() : [];
      if (by === judged) list.judge(entries, match, by);
      showCounts();
    }
    isJudging = false;
  } catch {
    // Offline, or the service is busy: until then, no further one is asked for.
    setTimeout(() => {
      isJudging = false;
      judge();
    }, JUDGE_MS);
  }
}

// Older records, from what waits and from the last objects.

/** @type {ReturnType<typeof setTimeout> | undefined} */
let filling;
let asked = new AbortController();
/** Whether older records were asked for, with whatever answer. */
let isFilled = false;
async function fill() {
  if (list.size.shown >= ENOUGH) return;
  asked.abort();
  asked = new AbortController();
  const at = judged;
  try {
    const answer = await fetch(`/live/recent${filter.query}`, { signal: asked.signal });
    if (!answer.ok || at !== judged) return;
    const { records } = await answer.json();
    if (at === judged) list.insert(records, at);
  } catch {
    // Offline: what arrives is shown all the same.
  } finally {
    isFilled = true;
    showCounts();
  }
}

// An opened record, as the server makes it.

function open(/** @type {Entry | null | undefined} */ entry) {
  if (entry?.arrived == null) return;
  const { arrived } = entry;
  opened = entry;
  show(entry, async () => {
    const body = new URLSearchParams(filter.query);
    body.set("csrf", String(new FormData(ui.form).get("csrf")));
    body.set("record", JSON.stringify(arrived));
    const answer = await fetch("/live/record", { method: "POST", body });
    return answer.ok ? pageOf((await answer.json()).html).querySelector(".record-details") : null;
  });
  ui.newer.disabled = list.beside(entry, -1) === null;
  ui.older.disabled = list.beside(entry, 1) === null;
}

const pageOf = (/** @type {string} */ html) => new DOMParser().parseFromString(html, "text/html");

/** @param {() => Promise<Element | null>} load null: there is none. */
async function show(/** @type {Entry | null} */ entry, load) {
  const found = await load().catch(() => null);
  if (opened !== entry) return;
  ui.whole.replaceChildren(found ?? element("p", "quiet", "The record cannot be shown: the service does not give it."));
  ui.record.scrollTop = 0;
  ui.whole.dispatchEvent(new Event("fresh", { bubbles: true }));
  showAddress();
  // Where there is room, the list stays in use beside it.
  if (!ui.record.open) ui.record[matchMedia("(min-width: 75rem)").matches ? "show" : "showModal"]();
}

/** The conditions, and the search that finds the open record. */
function showAddress() {
  /** @type {HTMLAnchorElement | null} */
  const link = ui.whole.querySelector("a.record-link");
  history.replaceState(null, "", `/live${filter.query}${link === null ? "" : link.search.replace("?", "#")}`);
}

/** Of a link: its record was shipped meanwhile. */
function openOfAddress() {
  const query = location.hash.slice(1);
  if (!query.includes("since=")) return;
  show(null, async () => {
    const answer = await fetch(`/search?${query}`, { headers: { accept: "text/html" } });
    return pageOf(await answer.text()).querySelector(".record[open] > .record-details");
  });
}

const step = (/** @type {1 | -1} */ by) => opened !== null && open(list.beside(opened, by));
ui.newer.addEventListener("click", () => step(-1));
ui.older.addEventListener("click", () => step(1));
ui.close.addEventListener("click", () => ui.record.close());
ui.record.addEventListener("close", () => {
  opened = null;
  ui.whole.replaceChildren();
  showAddress();
});
ui.whole.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("a");
  if (link?.pathname !== "/live" || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  ui.record.close();
  filter.take(new URL(link.href).searchParams);
});
ui.rows.addEventListener("click", (event) => {
  const row = /** @type {Element} */ (event.target).closest("li");
  if (row !== null) open(list.entriesOf(row)[0]);
});
ui.pause.addEventListener("click", () => setPaused(!isPaused));
ui.clear.addEventListener("click", () => {
  // What is waiting counts as drawn.
  for (const each of pending) if ("number" in each) link.drawn(each.number);
  pending = [];
  list.clear();
  if (isPaused) hold();
  showCounts();
});

// Keys.

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const inList = ui.rows.contains(focused);
  if (focused?.closest("input, textarea, select, [contenteditable]")) return;
  if (ui.record.open) {
    // Each one is asked for.
    if (!event.repeat && (event.key === "j" || event.key === "k")) step(event.key === "j" ? 1 : -1);
    if (event.key === "Escape") ui.record.close();
    return;
  }
  if (event.key === "/") ui.query.focus();
  else if (event.key === "j" || (inList && event.key === "ArrowDown")) list.move(1);
  else if (event.key === "k" || (inList && event.key === "ArrowUp")) list.move(-1);
  else if (inList && event.key === "Home") list.moveToEnd("first");
  else if (inList && event.key === "End") list.moveToEnd("last");
  else if (event.key === " " && (inList || !focused?.closest("button, a, summary"))) setPaused(!isPaused);
  else return;
  event.preventDefault();
});
// A button is pressed when the space bar comes up.
ui.rows.addEventListener("keyup", (event) => event.key === " " && event.preventDefault());

ui.app.hidden = false;
ui.tools.hidden = false;
document.getElementById("recent")?.remove();
link.wanted = filter.wanted;
showCounts();
openOfAddress();
link.connect();
setInterval(() => link.tell(), TELL_MS);
setInterval(() => link.ping(), 5000);
setInterval(speakCounts, SPEAK_MS);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let leaving;
document.addEventListener("visibilitychange", () => {
  clearTimeout(leaving);
  if (document.hidden) leaving = setTimeout(() => link.disconnect("Disconnected while hidden."), UNSEEN_MS);
  else link.connect();
});
