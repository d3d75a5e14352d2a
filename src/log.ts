import { AsyncLocalStorage } from "node:async_hooks";

/** What a line says beside its message: JSON, and nothing secret. docs/operations.md has the fields. */
export type LogFields = Readonly<Record<string, unknown>>;

const context = new AsyncLocalStorage<LogFields>();

/** Runs something whose every line carries these fields, beside those of whatever it runs in. */
export function inLogContext<T>(fields: LogFields, run: () => T): T {
  return context.run({ ...context.getStore(), ...fields }, run);
}

/**
 * Lines for whoever runs the service: one object each, which the platform keeps as it is and can be searched by its fields. What a line says of an error
 * goes through {@link errorText}.
 */
export const log = {
  info: (message: string, fields: LogFields = {}): void => console.info(line(message, fields)),
  warn: (message: string, fields: LogFields = {}): void => console.warn(line(message, fields)),
  error: (message: string, fields: LogFields = {}): void => console.error(line(message, fields)),
};

function line(message: string, fields: LogFields): LogFields {
  return { message, ...context.getStore(), ...fields };
}

/** Longest text of an error in a line, in UTF-16 units. */
const ERROR_TEXT_MAX = 300;

/** What of an error's text is looked at, likewise. */
const LOOKED_AT_MAX = 4_096;

/**
 * What may be secret in somebody else's words, by its shape; each becomes `****`. Of a URL, scheme and host stay: what stands before, behind and after
 * them opens things (signed queries, paths of webhooks, user info, destinations with their keys).
 */
const SECRET_SHAPES: readonly (readonly [shape: RegExp, becomes: string])[] = [
  // `JSON.parse` and its like quote what they could not read.
  [/(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/g, '"****" is not valid JSON'],
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)(?:[^\s/?#"'<>]*@)?([^\s/?#"'<>@]*)(?:[/?#][^\s"'<>]*)?/gi, "$1$2/****"],
  [/\b(Bearer|Basic|AWS4-HMAC-SHA256)\s+[^"'<>]*/gi, "$1 ****"],
  [
    /([\w-]{0,40}(?:secret|token|passw(?:or)?d|api[-_ ]?key|auth[-_ ]?key|access[-_ ]?key|signature|credential|authorization|challenge)[\w-]{0,40}["']?\s*[=:]\s*["']?)(?:(?<=")(?:[^"\\]|\\.)*|(?<=')(?:[^'\\]|\\.)*|[^\s"'&,;<>]+)/gi,
    "$1****",
  ],
  [/\blogship_(token|key)_[\w-]*/g, "logship_$1_****"],
  [/\bA[KS]IA[A-Z0-9]{8,}/g, "****"],
  // Keys, hashes, tokens of whatever kind: no word is that long.
  [/[A-Za-z0-9+/_=-]{32,}/g, "****"],
];

/**
 * An error in a few words that may stand in a line: its name and what it says, on one line, at most {@link ERROR_TEXT_MAX} units of it, and nothing that has
 * the shape of a secret. Of whatever was thrown that is no error, only its kind: what it says, and whether it can be made text at all, was for others to
 * choose. Never throws.
 */
export function errorText(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `thrown: ${typeof error}`;
    // What was sent stands in such a message, or may: which part of it is at fault is told to the sender.
    if (error.name === "ZodError") return "ZodError";
    return masked(`${error.name}: ${error.message}`);
  } catch {
    return "an error that cannot be read";
  }
}

function masked(text: string): string {
  let known = text.slice(0, LOOKED_AT_MAX);
  // Half a secret has no shape that could be known.
  if (text.length > LOOKED_AT_MAX) known = known.replace(/\S+$/, "");
  known = known.replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, " ");
  for (const [shape, becomes] of SECRET_SHAPES) known = known.replace(shape, becomes);
  return known.length <= ERROR_TEXT_MAX ? known : `${known.slice(0, ERROR_TEXT_MAX).toWellFormed()}…`;
}
