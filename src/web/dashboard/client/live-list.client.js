// The list of /live: a line for each record, or for neighbours that are alike.
// @ts-check
import { identityOf } from "../parts/record-filter.ts";
import { rowOf, summaryOf } from "../parts/record-summary.ts";

/** @typedef {import("./live-link.client.js").Arrived} Arrived */
/**
 * A record of the list, or a gap in it. `key`: what alike neighbours have in common; `judged`: by
 * which query it is shown or not.
 * @typedef {{
 *   arrived: Arrived | null, gap: string, atMs: number, key: string,
 *   isShown: boolean, judged: number,
 * }} Entry
 */
/**
 * A line; `row` is null until it is drawn.
 * @typedef {{ key: string, entries: Entry[], row: HTMLLIElement | null }} Group
 */

/** Records kept. */
const KEPT = 1000;
/** Records that the server judges at once, as a form has them, in bytes: it takes 512 KiB. */
const JUDGED_BYTES = 400_000;
/** Lines made in one frame. */
const LINES_AT_ONCE = 100;

/** @template {keyof HTMLElementTagNameMap} K */
export function element(
  /** @type {K} */ name,
  /** @type {string} */ className = "",
  /** @type {(Node | string)[]} */ ...inside
) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...inside);
  return made;
}

/** @returns {Entry} */
function entryOf(/** @type {Arrived} */ arrived, /** @type {number} */ judged) {
  const { script, state, event, host, line, atMs } = summaryOf(arrived.record);
  const key = JSON.stringify([script, state, event, host, line, arrived.tooLarge !== undefined]);
  return { arrived, gap: "", atMs: atMs ?? Number.NEGATIVE_INFINITY, key, isShown: true, judged };
}

export class List {
  #place;
  /** Newest first. @type {Entry[]} */
  #entries = [];
  /** Of those shown. @type {Group[]} */
  #groups = [];
  /** @type {WeakMap<Element, Group>} */
  #groupOf = new WeakMap();
  /** Groups whose row has to change in this frame. @type {Set<Group>} */
  #touched = new Set();
  /** Rows are being made, some in each frame. */
  #isMaking = false;
  /** How often each record came from elsewhere than this socket. @type {Map<string, number>} */
  #inserted = new Map();

  constructor(/** @type {HTMLElement} */ place) {
    this.#place = place;
  }

  /** Records that are shown, and all. */
  get size() {
    const shown = this.#groups.reduce((sum, { entries }) => sum + entries.length, 0);
    return { shown, all: this.#entries.length };
  }

  /** Adds one at the top; {@link draw} shows it. */
  add(/** @type {Arrived} */ arrived, /** @type {number} */ judged, /** @type {boolean} */ isShown) {
    if (this.#inserted.size > 0 && this.#wasInserted(arrived)) return;
    this.#put({ ...entryOf(arrived, judged), isShown });
  }

  /** What is missing here. */
  addGap(/** @type {string} */ gap) {
    const atMs = this.#entries[0]?.atMs ?? Date.now();
    this.#put({ arrived: null, gap, atMs, key: "", isShown: true, judged: 0 });
  }

  #put(/** @type {Entry} */ entry) {
    this.#entries.unshift(entry);
    if (!entry.isShown) return;
    const [top] = this.#groups;
    if (top !== undefined && top.key === entry.key && entry.key !== "") {
      top.entries.unshift(entry);
      this.#touched.add(top);
    } else this.#groups.unshift({ key: entry.key, entries: [entry], row: null });
  }

  /** Shows what was added: to be called once in a frame. */
  draw() {
    while (this.#entries.length > KEPT) {
      if (!this.#entries.pop()?.isShown) continue;
      const last = /** @type {Group} */ (this.#groups.at(-1));
      last.entries.pop();
      this.#touched.add(last);
      if (last.entries.length > 0) continue;
      this.#groups.pop();
      last.row?.remove();
    }
    for (const group of this.#touched) this.#update(group);
    this.#touched.clear();
    const known = this.#groups.findIndex(({ row }) => row !== null);
    const fresh = this.#groups.slice(0, known === -1 ? LINES_AT_ONCE : known);
    this.#place.prepend(...fresh.map((group) => this.#rowOf(group)));
    this.#keepOneReachable();
    this.#makeSoon();
  }

  /** The newest records that another query judged: one, and as many as may be asked for with it. */
  unjudged(/** @type {number} */ judged) {
    /** @type {Entry[]} */
    const found = [];
    let room = JUDGED_BYTES;
    for (const entry of this.#entries) {
      if (entry.arrived === null || entry.judged === judged) continue;
      const bytes = `${new URLSearchParams({ "": JSON.stringify(entry.arrived) })}`.length;
      if (found.length > 0 && bytes > room) break;
      found.push(entry);
      room -= bytes;
    }
    return found;
  }

  /** Shows those that match, and hides the others. */
  judge(/** @type {Entry[]} */ entries, /** @type {boolean[]} */ match, /** @type {number} */ judged) {
    let isOther = false;
    for (const [i, entry] of entries.entries()) {
      isOther ||= entry.isShown !== match[i];
      [entry.isShown, entry.judged] = [match[i] === true, judged];
    }
    if (isOther) this.#regroup();
  }

  /** Adds records from elsewhere that are not there yet, each at its time. */
  insert(/** @type {Arrived[]} */ records, /** @type {number} */ judged) {
    /** @type {Map<string, number>} */
    const known = new Map();
    const count = (/** @type {Map<string, number>} */ of, /** @type {string} */ id, /** @type {number} */ by) =>
      of.set(id, (of.get(id) ?? 0) + by);
    for (const { arrived } of this.#entries) if (arrived !== null) count(known, identityOf(arrived.record), 1);
    for (const arrived of records) {
      const id = identityOf(arrived.record);
      if ((known.get(id) ?? 0) > 0) count(known, id, -1);
      else {
        count(this.#inserted, id, 1);
        this.#entries.push(entryOf(arrived, judged));
      }
    }
    this.#entries.sort((a, b) => b.atMs - a.atMs);
    this.#entries.length = Math.min(this.#entries.length, KEPT);
    this.#regroup();
  }

  /**
   * Records of events since then may come once more: the server shows some before they are counted,
   * and does not know what an earlier socket brought.
   */
  expectAgain(/** @type {number} */ sinceMs) {
    /** @type {Map<string, number>} */
    const times = new Map();
    for (const { arrived, atMs } of this.#entries) {
      if (arrived === null || atMs < sinceMs) continue;
      const id = identityOf(arrived.record);
      times.set(id, (times.get(id) ?? 0) + 1);
    }
    for (const [id, known] of times) this.#inserted.set(id, Math.max(known, this.#inserted.get(id) ?? 0));
  }

  clear() {
    this.#entries = [];
    this.#inserted.clear();
    this.#regroup();
  }

  /** The records of a line, newest first; none: it is a gap. */
  entriesOf(/** @type {Element} */ row) {
    return this.#groupOf.get(row)?.entries.filter(({ arrived }) => arrived !== null) ?? [];
  }

  /** The next one that is shown; null: there is none. */
  beside(/** @type {Entry} */ entry, /** @type {1 | -1} */ step) {
    const records = this.#groups.flatMap(({ entries }) => entries).filter(({ arrived }) => arrived !== null);
    const at = records.indexOf(entry);
    return (at === -1 ? null : records[at + step]) ?? null;
  }

  /** Moves the focus in the list, which is one stop of the tab key. */
  move(/** @type {1 | -1} */ step) {
    const focused = document.activeElement;
    let row = focused instanceof HTMLElement && this.#place.contains(focused) ? focused.closest("li") : null;
    if (row === null) return this.#reach(this.#place.querySelector("button[tabindex='0']"));
    do row = /** @type {HTMLLIElement | null} */ (step === 1 ? row.nextElementSibling : row.previousElementSibling);
    while (row !== null && row.querySelector("button") === null);
    this.#reach(row?.querySelector("button") ?? null);
  }

  moveToEnd(/** @type {"first" | "last"} */ end) {
    const all = this.#place.querySelectorAll("button");
    this.#reach(all[end === "first" ? 0 : all.length - 1] ?? null);
  }

  #wasInserted(/** @type {Arrived} */ { record }) {
    const id = identityOf(record);
    const times = this.#inserted.get(id) ?? 0;
    if (times <= 1) this.#inserted.delete(id);
    else this.#inserted.set(id, times - 1);
    return times > 0;
  }

  #regroup() {
    this.#groups = [];
    this.#touched.clear();
    for (const entry of this.#entries) {
      if (!entry.isShown) continue;
      const last = this.#groups.at(-1);
      if (last !== undefined && last.key === entry.key && entry.key !== "") last.entries.push(entry);
      else this.#groups.push({ key: entry.key, entries: [entry], row: null });
    }
    this.#place.replaceChildren();
    this.draw();
  }

  /** A thousand lines at once would take longer than a frame. */
  #makeSoon() {
    if (this.#isMaking || this.#groups.at(-1)?.row !== null) return;
    this.#isMaking = true;
    requestAnimationFrame(() => {
      this.#isMaking = false;
      const from = this.#groups.findLastIndex(({ row }) => row !== null) + 1;
      const next = this.#groups.slice(from, from + LINES_AT_ONCE);
      this.#place.append(...next.map((group) => this.#rowOf(group)));
      this.#makeSoon();
    });
  }

  #rowOf(/** @type {Group} */ group) {
    const entry = /** @type {Entry} */ (group.entries[0]);
    const row = element("li", entry.gap === "" ? "" : "live-gap");
    this.#groupOf.set(row, group);
    group.row = row;
    if (entry.arrived === null) row.append("▲ ", entry.gap);
    else {
      row.append(element("button"));
      this.#update(group);
    }
    return row;
  }

  /** The newest, and how many there are. */
  #update(/** @type {Group} */ { row, entries: [newest, ...others] }) {
    const button = row?.querySelector("button");
    if (button == null || newest?.arrived == null) return;
    // The one text that is HTML: all that is foreign in it is escaped.
    button.innerHTML = rowOf(newest.arrived.record, newest.arrived.source ?? "");
    button.type = "button";
    if (!button.hasAttribute("tabindex")) button.tabIndex = -1;
    if (others.length > 0)
      button.firstElementChild?.append(element("span", "live-count", `× ${(others.length + 1).toLocaleString("en")}`));
  }

  #reach(/** @type {HTMLElement | null} */ button) {
    if (button === null) return;
    for (const old of this.#place.querySelectorAll("button[tabindex='0']")) old.setAttribute("tabindex", "-1");
    button.tabIndex = 0;
    button.focus();
  }

  #keepOneReachable() {
    if (this.#place.querySelector("button[tabindex='0']") !== null) return;
    this.#place.querySelector("button")?.setAttribute("tabindex", "0");
  }
}
