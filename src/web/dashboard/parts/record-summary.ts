import { took } from "../../../base/words.ts";

export interface Json {
  [name: string]: unknown;
}

type Kind = "ok" | "warn" | "bad" | "quiet";

/** One record in short. The texts come from the record: show them through `visible`. */
export interface RecordSummary {
  /** Since the epoch; null: the record has no valid time. */
  atMs: number | null;
  /** The status of the response, and the outcome unless it is `ok`: `503 exception`. */
  state: string;
  kind: Kind;
  script: string;
  /** What called the function, in short: method and path. */
  event: string;
  /** Where the path is; "": it is no request. */
  host: string;
  /** How long it took: `1.25 s`; "": it does not say. */
  took: string;
  /** The first exception, or else the first of the worst log lines. */
  line: string;
  /** Whether that is an exception, or a log of level error or warn. */
  lineKind: Kind;
  /** How many more exceptions and logs there are. */
  more: number;
}

/**
 * The functions that turn a record into text. The pages call them, and assets.ts sends the source
 * of this function to the browser for /live. It therefore uses nothing from outside, and its
 * functions are methods: esbuild wraps every other named function in a helper that the browser does
 * not have.
 */
export function recordTexts() {
  /** Characters of a text in a row. */
  const SHORT = 300;
  /** The largest time that a date can have. ECMA-262, 21.4.1.1. */
  const DATE_MAX_MS = 8.64e15;
  /**
   * Characters that steer terminals, break lines, reorder the text around them, or are invisible.
   * Joiners and variation selectors are left alone: emoji and whole scripts are made of them.
   */
  const STEERING =
    /(?!\t|\n|\u034f|[\u180b-\u180d]|\u180f|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
  const OUTCOMES: ReadonlyMap<string, Kind> = new Map([
    ["ok", "ok"],
    ["", "quiet"],
    ["canceled", "warn"],
    ["responseStreamDisconnected", "warn"],
    ["unknown", "quiet"],
  ]);
  /** Shapes beside colours. */
  const MARKS = { ok: "●", warn: "▲", bad: "■", quiet: "○" };
  const WORST: readonly Kind[] = ["bad", "warn", "ok", "quiet"];

  const to = {
    object(value: unknown): Record<string, unknown> {
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      return isObject ? (value as Record<string, unknown>) : {};
    },
    list(value: unknown): readonly unknown[] {
      return Array.isArray(value) ? value : [];
    },
    text(value: unknown): string {
      if (typeof value === "string") return value;
      return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
    },
    words(...parts: readonly string[]): string {
      return parts.filter(Boolean).join(" ");
    },
    short(text: string): string {
      return text.length <= SHORT ? text : `${text.slice(0, SHORT)}…`.toWellFormed();
    },
    worst(...kinds: readonly Kind[]): Kind {
      return WORST.find((kind) => kinds.includes(kind)) ?? "quiet";
    },
    html(text: string): string {
      const shown = texts.visible(to.short(text)).replaceAll("&", "&amp;");
      return shown.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    },
    /** @param kind "": it has no mark. */
    cell(name: string, kind: Kind | "", text: string, aside: string): string {
      if (text === "" && aside === "") return "";
      const of = kind === "" ? "" : ` state ${kind}`;
      const mark = kind === "" ? "" : `<span class="mark" aria-hidden="true">${MARKS[kind]}</span>`;
      const beside = aside === "" ? "" : ` <bdi class="quiet">${to.html(aside)}</bdi>`;
      return ` <span class="record-${name}${of}">${mark}<bdi>${to.html(text)}</bdi>${beside}</span>`;
    },
    took(ms: unknown): string {
      if (typeof ms !== "number") return "";
      if (Math.abs(ms) < 1_000) return `${Number(ms.toPrecision(3))} ms`;
      return Math.abs(ms) < 90_000 ? `${Number((ms / 1_000).toPrecision(3))} s` : `${Math.round(ms / 60_000)} min`;
    },
    /** An event in a few words, and its host; docs/events.md lists its types. */
    event(type: string, event: Record<string, unknown>): [string, string] {
      const size = to.text(event.BatchSize);
      switch (type) {
        case "scheduled":
          return [to.words("cron", to.text(event.Cron)), ""];
        case "queue":
          return [to.words("queue", to.text(event.Queue), size === "" ? "" : `(${size})`), ""];
        case "email":
          return [to.words("email from", to.text(event.MailFrom)), ""];
        case "worker_rpc":
          return [to.words("rpc", to.text(event.RPCMethod)), ""];
        case "hibernatable_web_socket":
          return [to.words("websocket", to.text(event.WebSocketEventType)), ""];
        case "onHibernate":
          return [to.words("hibernates", to.text(event.Reason)), ""];
        default: {
          const request = to.object(event.Request);
          const url = to.text(request.URL);
          const [, host = "", path = url] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
          return [to.words(to.text(request.Method), path || (host === "" ? "" : "/")) || type, host];
        }
      }
    },
    /** Exceptions and logs of a record; of a row, it is one of them. */
    entries(fields: Record<string, unknown>): [exceptions: readonly unknown[], logs: readonly unknown[]] {
      const { Exceptions, Logs, RowType, ExceptionName, Level, Message, Fields } = fields;
      if (RowType === "exception") return [[{ name: ExceptionName, message: Message }], []];
      if (RowType === "log")
        return [[], [{ Level, Message: to.text(Message) || JSON.stringify(to.object(Fields)).replace(/^{}$/, "") }]];
      return [to.list(Exceptions), to.list(Logs)];
    },
    firstLine(exceptions: readonly unknown[], logs: readonly unknown[]): [string, Kind] {
      if (exceptions.length > 0) {
        const { name, message } = to.object(exceptions[0]);
        return [[to.text(name), to.text(message)].filter(Boolean).join(": "), "bad"];
      }
      if (logs.length === 0) return ["", "quiet"];
      const levels = logs.map((log) => to.object(log).Level);
      const worst = Math.max(0, levels.includes("error") ? levels.indexOf("error") : levels.indexOf("warn"));
      const { Level, Message } = to.object(logs[worst]);
      const level = to.text(Level);
      const message = Array.isArray(Message) ? Message.slice(0, 20).map(to.text).join(" ") : to.text(Message);
      const line = to.words(level === "" || level === "log" ? "" : `${level}:`, message);
      return [line, level === "error" ? "bad" : level === "warn" ? "warn" : "quiet"];
    },
  };

  const texts = {
    STEERING,

    /**
     * A text as it may be shown: a steering character becomes its code (`␛` for escape,
     * `<U+202E>`).
     */
    visible(text: string): string {
      return text.toWellFormed().replace(STEERING, (character) => {
        const code = character.codePointAt(0) ?? 0;
        if (code < 0x20) return String.fromCharCode(0x2400 + code);
        if (code === 0x7f) return "\u2421";
        return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
      });
    },

    /**
     * What is said of any value. A field that is missing or has another type counts as empty. Never
     * throws.
     */
    summaryOf(record: unknown): RecordSummary {
      const fields = to.object(record);
      const { EventTimestampMs: at } = fields;
      const outcome = to.text(fields.Outcome);
      const called = to.object(fields.Event);
      const status = to.text(to.object(called.Response).Status);
      const [event, host] = to.event(to.text(fields.EventType), called);
      const [exceptions, logs] = to.entries(fields);
      const [line, lineKind] = to.firstLine(exceptions, logs);
      return {
        atMs: typeof at === "number" && Math.abs(at) <= DATE_MAX_MS ? at : null,
        state: to.short(to.words(status, status !== "" && outcome === "ok" ? "" : outcome)),
        kind: to.worst(
          OUTCOMES.get(outcome) ?? "bad",
          Number(status) >= 500 ? "bad" : Number(status) >= 400 ? "warn" : "quiet",
        ),
        script: to.short(to.text(fields.ScriptName)),
        event: to.short(event),
        host: to.short(host),
        took: to.took(fields.WallTimeMs),
        line: to.short(line),
        lineKind,
        more: Math.max(0, exceptions.length + logs.length - 1),
      };
    },

    /**
     * The HTML of a row, which pages and the browser show alike: no text in it is markup.
     * @param source where the record came from; "": unknown.
     */
    rowOf(record: unknown, source: string): string {
      const { atMs, state, kind, script, event, host, took, line, lineKind, more } = texts.summaryOf(record);
      const iso = atMs === null ? "" : new Date(atMs).toISOString();
      const day = `<span class="record-day">${iso.slice(-19, -14)} </span>`;
      const cells = [
        to.cell("state", kind, state, ""),
        to.cell("event", "", event, host),
        to.cell("took", "", took, ""),
        to.cell("script", "", script, source),
        to.cell("line", lineKind === "quiet" ? "" : lineKind, line, more > 0 ? `+${more}` : ""),
      ].join("");
      const time = `<time class="record-time" datetime="${iso}" title="${iso}">${day}${iso.slice(-13, -1)}</time>`;
      const all =
        `${iso === "" ? "" : time}${cells}` ||
        to.cell("event", "", to.text(record) || Object.keys(Object(record)).join(", "), "");
      return `<span class="record-row record-${to.worst(kind, lineKind)}">${all}</span>`;
    },
  };
  return texts;
}

export const { STEERING, visible, summaryOf, rowOf } = recordTexts();

/** When something happened in it: `+12 ms`, from its event on; "": it does not say. */
export function afterWords({ TimestampMs: at }: { TimestampMs?: unknown }, startMs: unknown): string {
  if (typeof at !== "number" || typeof startMs !== "number") return "";
  return `${at < startMs ? "" : "+"}${took(at - startMs)}`;
}

/** Untrusted JSON or code, safe to copy: steering characters become `\uXXXX` escapes. */
export function escaped(text: string): string {
  return text.replace(STEERING, unicodeEscapes);
}

/** `\uXXXX` for each UTF-16 unit. */
export function unicodeEscapes(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Indentation of one record, in characters: it grows with depth times lines. */
const INDENT_MAX = 200_000;

/** A whole record: JSON, indented where that does not take too much, or a text as it stands. */
export function wholeOf(record: unknown, indent = 2): string {
  if (typeof record === "string") return record;
  try {
    return JSON.stringify(record, null, isIndentable(record) ? indent : 0) ?? String(record);
  } catch {
    return "This record is nested too deeply to show.";
  }
}

function isIndentable(record: unknown): boolean {
  const left: [value: unknown, depth: number][] = [[record, 0]];
  let characters = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [value, depth] = next;
    // Twice: its end may have a line of its own.
    characters += 4 * depth;
    if (characters > INDENT_MAX) return false;
    if (typeof value !== "object" || value === null) continue;
    for (const below of Object.values(value)) left.push([below, depth + 1]);
  }
  return true;
}
