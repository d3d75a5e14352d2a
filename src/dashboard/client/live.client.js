// Records as they arrive: the list of /live. docs/live.md describes the messages of the socket.
// @ts-check
import { summaryOf, visible } from "../parts/record-summary.ts";

/** @typedef {{ [name: string]: unknown }} Json */
/**
 * @typedef {{ seen: number, shown: number, filtered: number, dropped: number, paused: number }}
 *   Counts
 */
/** @typedef {{ record: Json, source?: string, tooLarge?: number }} Arrived */
/** @typedef {{ arrived: Arrived, row: HTMLTableRowElement, text: string | null }} Entry */

/** Records kept in the list. */
const KEPT = 1000;
/** Records drawn per frame. */
const DRAWN_AT_ONCE = 60;
/** How often the server is told what is drawn, in ms; it limits the rate of messages. */
const TELL_MS = 250;
/** How often the counts are announced to screen readers, in ms. */
const SPEAK_MS = 5000;
/** How long a hidden page stays connected, in ms. */
const UNSEEN_MS = 600_000;
const PING_MS = 30_000;
/** How long a socket may take to open, in ms. */
const CONNECT_MS = 10_000;
const BACKOFF_MS = { first: 1000, most: 30_000 };

/** @template {HTMLElement} T */
function part(/** @type {string} */ id, /** @type {new () => T} */ kind) {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${id}`);
}

/** @template {keyof HTMLElementTagNameMap} K */
function element(
  /** @type {K} */ name,
  /** @type {string} */ className = "",
  /** @type {(Node | string)[]} */ ...inside
) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...inside);
  return made;
}

const ui = {
  app: part("live-app", HTMLElement),
  state: part("live-state", HTMLElement),
  spoken: part("live-spoken", HTMLElement),
  rows: part("live-rows", HTMLTableSectionElement),
  table: part("live-table", HTMLTableElement),
  empty: part("live-empty", HTMLElement),
  faults: part("live-faults", HTMLElement),
  form: part("live-filter", HTMLFormElement),
  filter: part("field-filter", HTMLTextAreaElement),
  script: part("field-script", HTMLInputElement),
  what: part("live-what", HTMLDetailsElement),
  wanted: part("live-wanted", HTMLElement),
  job: document.getElementById("field-job"),
  search: part("field-search", HTMLInputElement),
  found: part("live-found", HTMLElement),
  pause: part("live-pause", HTMLButtonElement),
  clear: part("live-clear", HTMLButtonElement),
  record: part("live-record", HTMLDialogElement),
  json: part("live-json", HTMLElement),
  source: part("live-source", HTMLElement),
  large: part("live-large", HTMLElement),
  close: part("live-close", HTMLButtonElement),
};

const COUNTED = /** @type {const} */ (["seen", "shown", "filtered", "dropped", "paused"]);

/** @returns {Counts} */
const none = () => ({ seen: 0, shown: 0, filtered: 0, dropped: 0, paused: 0 });

// The list, and what is waiting to enter it.

/** Newest first. @type {Entry[]} */
let entries = [];
/**
 * In order of arrival; `number` follows the last record of each message. @type {(Arrived | {
 * number: number } | { gap: string })[]}
 */
let pending = [];
let isPaused = false;
let isDrawing = false;
/** Counts of earlier sockets, and of this one. */
const before = none();
let counts = none();
let spokenOf = "";

function drawSoon() {
  if (isDrawing || isPaused || pending.length === 0) return;
  isDrawing = true;
  requestAnimationFrame(draw);
}

function draw() {
  isDrawing = false;
  if (isPaused) return;
  const rows = [];
  let drawn = 0;
  let at = 0;
  for (; at < pending.length && drawn < DRAWN_AT_ONCE; at++) {
    const next = /** @type {typeof pending[number]} */ (pending[at]);
    if ("number" in next) link.drawn(next.number);
    else if ("gap" in next) rows.push(gapRow(next.gap));
    else {
      const entry = { arrived: next, row: rowOf(next), text: null };
      entries.unshift(entry);
      hideUnlessFound(entry);
      rows.push(entry.row);
      drawn += 1;
    }
  }
  // Numbers directly behind need no drawing.
  for (let next = pending[at]; next !== undefined && "number" in next; next = pending[++at]) link.drawn(next.number);
  pending = pending.slice(at);
  ui.rows.prepend(...rows.reverse());
  entries.length = Math.min(entries.length, KEPT);
  while (ui.rows.rows.length > KEPT) ui.rows.lastElementChild?.remove();
  keepOneReachable();
  showCounts();
  drawSoon();
}

function showCounts() {
  for (const name of COUNTED) part(`live-${name}`, HTMLElement).textContent = total(name).toLocaleString("en");
  ui.empty.hidden = ui.rows.rows.length > 0;
  ui.table.hidden = ui.rows.rows.length === 0;
}

const total = (/** @type {keyof Counts} */ name) => before[name] + counts[name];

function speakCounts() {
  const text = `${total("seen")} arrived, ${total("shown")} shown, ${total("filtered")} filtered, ${total("dropped")} skipped`;
  if (text === spokenOf) return;
  ui.spoken.textContent = text;
  spokenOf = text;
}

// Rows.

/** Shapes beside colours. @type {Record<string, string>} */
const MARKS = { ok: "●", warn: "▲", bad: "■", info: "◆", quiet: "○" };

function marked(/** @type {string} */ kind, /** @type {string} */ text) {
  const mark = element("span", "mark", MARKS[kind] ?? "");
  mark.setAttribute("aria-hidden", "true");
  return element("span", `live-mark ${kind}`, mark, text);
}

function rowOf(/** @type {Arrived} */ { record, source = "", tooLarge }) {
  const { atMs, outcome, kind, script, event, line, lineKind, more } = summaryOf(record);
  const time = element("time", "");
  if (atMs !== null) {
    const at = new Date(atMs);
    time.dateTime = at.toISOString();
    time.title = `${at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" })} (your time)\n${time.dateTime}`;
    time.textContent = time.dateTime.slice(11, 23);
  }
  const name = visible(script);
  const button = element("button", "small mono", time, element("span", "unseen", ` UTC: open the record of ${name}`));
  button.type = "button";
  button.tabIndex = -1;
  const heading = element("th", "", button);
  heading.scope = "row";
  const row = element("tr", "", heading);
  const firstLine =
    tooLarge === undefined
      ? line && marked(lineKind, `${visible(line)}${more > 0 ? ` +${more}` : ""}`)
      : marked("warn", `too large to show: ${tooLarge.toLocaleString("en")} bytes`);
  const cells = /** @type {const} */ ([
    ["Outcome", marked(kind, visible(outcome))],
    ["Function", name],
    ["Event", visible(event)],
    ["First line", firstLine],
  ]);
  for (const [label, inside] of cells) {
    // On a narrow screen, CSS hides an empty cell.
    const cell = element("td", "", ...(inside === "" ? [] : [element("bdi", "foreign", inside)]));
    cell.dataset.label = label;
    if (label === "Function" && source !== "") cell.append(element("span", "quiet live-source", visible(source)));
    row.append(cell);
  }
  return row;
}

function gapRow(/** @type {string} */ text) {
  const cell = element("td", "live-gap", marked("warn", text));
  cell.colSpan = 5;
  return element("tr", "", cell);
}

const buttons = () => /** @type {HTMLButtonElement[]} */ ([...ui.rows.querySelectorAll("tr:not([hidden]) button")]);

/** The list is one tab stop; arrows move inside it. */
function keepOneReachable() {
  const reachable = ui.rows.querySelector("tr:not([hidden]) button[tabindex='0']");
  if (reachable !== null) return;
  for (const old of ui.rows.querySelectorAll("button[tabindex='0']")) old.setAttribute("tabindex", "-1");
  const first = /** @type {HTMLElement | null} */ (ui.rows.querySelector("tr:not([hidden]) button"));
  if (first !== null) first.tabIndex = 0;
}

function reach(/** @type {HTMLButtonElement | undefined} */ button) {
  if (button === undefined) return;
  for (const old of ui.rows.querySelectorAll("button[tabindex='0']")) old.setAttribute("tabindex", "-1");
  button.tabIndex = 0;
  button.focus();
}

ui.rows.addEventListener("keydown", (event) => {
  const all = buttons();
  const at = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  if (at === -1) return;
  /** @type {Record<string, number>} */
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
  const to = steps[event.key];
  if (to === undefined) return;
  event.preventDefault();
  reach(all[to]);
});

ui.rows.addEventListener("click", (event) => {
  const row = /** @type {Element} */ (event.target).closest("tr");
  const entry = entries.find((each) => each.row === row);
  if (entry === undefined || getSelection()?.isCollapsed === false) return;
  const { record, source = "", tooLarge } = entry.arrived;
  ui.large.textContent =
    tooLarge === undefined
      ? ""
      : `Too large to show in full: ${tooLarge.toLocaleString("en")} bytes. These are its short fields; jobs ship all of it.`;
  ui.json.textContent = visible(JSON.stringify(record, null, 2));
  ui.source.textContent = source === "" ? "" : `Source: ${visible(source)}`;
  ui.record.showModal();
});
ui.close.addEventListener("click", () => ui.record.close());

// Search, in the list only.

function hideUnlessFound(/** @type {Entry} */ entry) {
  const wanted = ui.search.value.trim().toLowerCase();
  if (wanted !== "") entry.text ??= `${JSON.stringify(entry.arrived.record)} ${entry.arrived.source}`.toLowerCase();
  entry.row.hidden = wanted !== "" && entry.text?.includes(wanted) !== true;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let searching;
ui.search.addEventListener("input", () => {
  clearTimeout(searching);
  searching = setTimeout(() => {
    for (const entry of entries) hideUnlessFound(entry);
    const found = entries.filter(({ row }) => !row.hidden).length;
    const of = entries.length.toLocaleString("en");
    ui.found.textContent = ui.search.value.trim() === "" ? "" : `${found.toLocaleString("en")} of ${of} records match.`;
    keepOneReachable();
  }, 150);
});

function clearList() {
  entries = [];
  // What is waiting counts as drawn.
  for (const each of pending) if ("number" in each) link.drawn(each.number);
  pending = [];
  ui.rows.replaceChildren();
  showCounts();
}
ui.clear.addEventListener("click", clearList);

// Pause.

function setPaused(/** @type {boolean} */ paused) {
  isPaused = paused;
  ui.pause.textContent = paused ? "Resume" : "Pause";
  link.say({ type: paused ? "pause" : "resume" });
  link.showState();
  drawSoon();
}
ui.pause.addEventListener("click", () => setPaused(!isPaused));
addEventListener("keydown", (event) => {
  if (event.key !== " " || event.ctrlKey || event.altKey || event.metaKey || ui.record.open) return;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  if (focused?.closest("input, textarea, select, button, a, summary, [contenteditable]")) return;
  event.preventDefault();
  setPaused(!isPaused);
});

// The socket.

class Link {
  /** @type {WebSocket | null} */
  #socket = null;
  #wait = BACKOFF_MS.first;
  /** Why there is no further socket; "": reconnects. */
  #end = "";
  #isOpen = false;
  #told = 0;
  #drawn = 0;
  #heardMs = Date.now();
  /** When the last socket was lost. @type {number | null} */
  #lostMs = null;
  /** The filter in force. */
  wanted = { filter: "", script: "" };
  /** The filter sent, until the server accepts or rejects it. @type {typeof this.wanted | null} */
  #asked = null;

  connect() {
    if (this.#socket !== null || this.#end !== "") return;
    for (const name of COUNTED) before[name] += counts[name];
    [counts, this.#told, this.#drawn] = [none(), 0, 0];
    // Numbers belong to their socket.
    pending = pending.filter((each) => !("number" in each));
    const url = new URL("/live/socket", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#heardMs = Date.now();
    socket.addEventListener("message", ({ data }) => socket === this.#socket && this.#take(String(data)));
    socket.addEventListener("close", ({ code, reason }) => socket === this.#socket && this.#closed(code, reason));
    this.showState();
  }

  /** @param {string} why shown until {@link connect}. */
  disconnect(why) {
    const socket = this.#socket;
    if (this.#isOpen) this.#lostMs = Date.now();
    [this.#socket, this.#isOpen] = [null, false];
    socket?.close(1000);
    ui.state.textContent = why;
  }

  say(/** @type {object} */ message) {
    if (this.#isOpen) this.#socket?.send(JSON.stringify(message));
  }

  want(/** @type {typeof this.wanted} */ wanted) {
    this.#asked = wanted;
    this.say({ type: "filter", ...wanted });
  }

  drawn(/** @type {number} */ number) {
    this.#drawn = number;
  }

  tell() {
    if (this.#drawn > this.#told) this.say({ type: "drawn", number: this.#drawn });
    this.#told = this.#drawn;
  }

  ping() {
    // A dead connection does not report itself, nor one that never opens.
    const silentMs = Date.now() - this.#heardMs;
    if (this.#socket !== null && silentMs > (this.#isOpen ? 2.5 * PING_MS : CONNECT_MS)) {
      this.#socket.close();
      this.#closed(1006, "");
    } else if (this.#isOpen && silentMs > PING_MS) this.#socket?.send("ping");
  }

  showState() {
    if (this.#end !== "") ui.state.textContent = this.#end;
    else if (this.#isOpen)
      ui.state.textContent = isPaused ? "Paused: no records are sent." : "Connected. Records appear as they arrive.";
    else if (this.#socket !== null) ui.state.textContent = "Connecting…";
    else ui.state.textContent = "Disconnected. Reconnecting…";
    ui.state.classList.toggle("live-off", !this.#isOpen);
  }

  #take(/** @type {string} */ data) {
    this.#heardMs = Date.now();
    if (data === "pong") return;
    const message = JSON.parse(data);
    if (message.type === "hello") {
      [this.#isOpen, this.#wait] = [true, BACKOFF_MS.first];
      if (this.#lostMs !== null) {
        const seconds = Math.max(1, Math.round((Date.now() - this.#lostMs) / 1000));
        pending.push({ gap: `Disconnected for ${seconds.toLocaleString("en")} s: records of that time are missing` });
        this.#lostMs = null;
        drawSoon();
      }
      const { filter, script } = this.#asked ?? this.wanted;
      if (filter !== "" || script !== "" || this.#asked !== null) this.want({ filter, script });
      if (isPaused) this.say({ type: "pause" });
      this.showState();
    }
    if (message.type === "filter") this.#judged(message.faults);
    if (message.type !== "records") return;
    pending.push(...message.records);
    const [dropped, paused] = [message.counts.dropped - counts.dropped, message.counts.paused - counts.paused];
    if (dropped > 0) pending.push({ gap: `${dropped.toLocaleString("en")} skipped (too fast)` });
    if (paused > 0) pending.push({ gap: `${paused.toLocaleString("en")} missed while paused` });
    pending.push({ number: message.number });
    counts = message.counts;
    drawSoon();
  }

  #judged(/** @type {string[]} */ faults) {
    const asked = this.#asked;
    this.#asked = null;
    if (faults.length === 0 && asked !== null) {
      const isNew = asked.filter !== this.wanted.filter || asked.script !== this.wanted.script;
      this.wanted = asked;
      if (isNew) clearList();
    }
    showFaults(faults);
  }

  async #closed(/** @type {number} */ code, /** @type {string} */ reason) {
    const wasOpen = this.#isOpen;
    if (wasOpen) this.#lostMs = Date.now();
    [this.#socket, this.#isOpen] = [null, false];
    if (code === 4401) this.#end = "Signed out. Sign in again to continue.";
    else if (code === 4403) this.#end = "You can no longer see records: this needs the permission logs:read.";
    else if (!wasOpen && code < 4000) await this.#askWhy();
    const wait = code === 4429 ? BACKOFF_MS.most : this.#wait * (0.75 + Math.random() / 2);
    this.#wait = Math.min(BACKOFF_MS.most, this.#wait * 2);
    if (this.#end === "") setTimeout(() => this.connect(), wait);
    this.showState();
    if (this.#end === "" && reason !== "") ui.state.textContent = `Disconnected: ${visible(reason)}. Reconnecting…`;
  }

  /** A browser does not say why a socket was rejected. */
  async #askWhy() {
    try {
      const { status } = await fetch("/live/socket", { signal: AbortSignal.timeout(CONNECT_MS) });
      if (status === 401) this.#end = "Signed out. Sign in again to continue.";
      if (status === 403) this.#end = "You cannot see records: this needs the permission logs:read.";
    } catch {
      // Offline: retried.
    }
  }
}

// Filter.

function showFaults(/** @type {string[]} */ faults) {
  ui.faults.replaceChildren(...faults.map((fault) => element("span", "live-fault", visible(fault))));
  if (faults.length > 0) ui.filter.setAttribute("aria-invalid", "true");
  else ui.filter.removeAttribute("aria-invalid");
  // After a rejected filter the previous one stays in force.
  if (faults.length > 0) ui.what.open = true;
  else showWanted();
}

function showWanted() {
  const { filter, script } = link.wanted;
  const what = filter === "" ? "all records" : "matching records";
  ui.wanted.textContent = `${what}${script === "" ? "" : ` of ${visible(script.slice(0, 100))}`}`;
}

ui.form.addEventListener("submit", (event) => {
  event.preventDefault();
  link.want({ filter: ui.filter.value.trim(), script: ui.script.value.trim() });
});

ui.job?.addEventListener("change", () => {
  const chosen = /** @type {HTMLSelectElement} */ (ui.job).selectedOptions[0];
  if (chosen?.dataset.filter !== undefined) ui.filter.value = chosen.dataset.filter;
});

const link = new Link();
link.wanted = { filter: ui.filter.value.trim(), script: ui.script.value.trim() };
ui.app.hidden = false;
showWanted();
showCounts();
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
