import { took } from "../../../base/words.ts";

type Kind = "ok" | "warn" | "bad" | "quiet";

/** One record as a row. The texts come from the record: show them through `visible`. */
export interface RecordSummary {
  /** Since the epoch; null: the record has no valid time. */
  atMs: number | null;
  outcome: string;
  kind: Kind;
  script: string;
  /** What called the function, in short. */
  event: string;
  /** The first exception, or else the first log line. */
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
    /** An event in a few words; docs/events.md lists its types. */
    event(type: string, event: Record<string, unknown>): string {
      const size = to.text(event.BatchSize);
      switch (type) {
        case "scheduled":
          return to.words("cron", to.text(event.Cron));
        case "queue":
          return to.words("queue", to.text(event.Queue), size === "" ? "" : `(${size})`);
        case "email":
          return to.words("email from", to.text(event.MailFrom));
        case "worker_rpc":
          return to.words("rpc", to.text(event.RPCMethod));
        case "hibernatable_web_socket":
          return to.words("websocket", to.text(event.WebSocketEventType));
        case "onHibernate":
          return to.words("hibernates", to.text(event.Reason));
        default: {
          const request = to.object(event.Request);
          const status = to.text(to.object(event.Response).Status);
          return to.words(to.text(request.Method), to.text(request.URL), status) || type;
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
      const { Level, Message } = to.object(logs[0]);
      const level = to.text(Level);
      const message = Array.isArray(Message) ? Message.slice(0, 20).map(to.text).join(" ") : to.text(Message);
      const line = to.words(level === "" || level === "log" ? "" : `${level}:`, message);
      return [line, level === "error" ? "bad" : level === "warn" ? "warn" : "quiet"];
    },
  };

  return {
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
     * The row of any value. A field that is missing or has another type counts as empty. Never
     * throws.
     */
    summaryOf(record: unknown): RecordSummary {
      const fields = to.object(record);
      const { EventTimestampMs: at } = fields;
      const outcome = to.text(fields.Outcome);
      const [exceptions, logs] = to.entries(fields);
      const [line, lineKind] = to.firstLine(exceptions, logs);
      return {
        atMs: typeof at === "number" && Math.abs(at) <= DATE_MAX_MS ? at : null,
        outcome: to.short(outcome),
        kind: OUTCOMES.get(outcome) ?? "bad",
        script: to.short(to.text(fields.ScriptName)),
        event: to.short(to.event(to.text(fields.EventType), to.object(fields.Event))),
        line: to.short(line),
        lineKind,
        more: Math.max(0, exceptions.length + logs.length - 1),
      };
    },
  };
}

export const { STEERING, visible, summaryOf } = recordTexts();

/** How long it took: `1.25 s`; "": it does not say. */
export function tookWords({ WallTimeMs: ms }: { WallTimeMs?: unknown }): string {
  return typeof ms === "number" ? took(ms) : "";
}

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
export function wholeOf(record: unknown): string {
  if (typeof record === "string") return record;
  try {
    return JSON.stringify(record, null, isIndentable(record) ? 2 : 0) ?? String(record);
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
