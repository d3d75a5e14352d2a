import { AsyncLocalStorage } from "node:async_hooks";
import { withoutSecrets } from "./secret-shapes.ts";

/** Fields of a line besides its message: JSON without secrets. docs/log-lines.md lists them. */
export type LogFields = Readonly<Record<string, unknown>>;

const context = new AsyncLocalStorage<LogFields>();

/** Adds these fields, and those of the enclosing context, to every line logged during `run`. */
export function inLogContext<T>(fields: LogFields, run: () => T): T {
  return context.run({ ...context.getStore(), ...fields }, run);
}

/**
 * Log lines for operators: one object each, which the platform stores and indexes by field. Text of
 * errors goes through {@link errorText}.
 */
export const log = {
  info: (message: string, fields: LogFields = {}): void => console.info(line(message, fields)),
  warn: (message: string, fields: LogFields = {}): void => console.warn(line(message, fields)),
  error: (message: string, fields: LogFields = {}): void => console.error(line(message, fields)),
};

function line(message: string, fields: LogFields): LogFields {
  return { message, ...context.getStore(), ...fields };
}

/** Longest error text in a line, in UTF-16 units. */
const ERROR_TEXT_MAX = 300;

/** How much of an error's text is read, likewise. */
const LOOKED_AT_MAX = 4_096;

/**
 * What of foreign text is masked beside {@link withoutSecrets}. Of a URL only scheme and host stay:
 * the rest may grant access (signed queries, webhook paths, user info, destinations with keys).
 */
const FOREIGN_SHAPES: readonly (readonly [shape: RegExp, becomes: string])[] = [
  // `JSON.parse` quotes its input.
  [/(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/g, '"****" is not valid JSON'],
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)(?:[^\s/?#"'<>]*@)?([^\s/?#"'<>@]*)(?:[/?#][^\s"'<>]*)?/gi, "$1$2/****"],
];

/** Keys, hashes, tokens: no word is that long. */
const LONG = /[A-Za-z0-9+/_=-]{32,}/g;

/**
 * An error for a log line: name and message on one line, at most {@link ERROR_TEXT_MAX} units, with
 * secrets masked. Of a thrown value that is no error, only the type: converting it may run foreign
 * code. Never throws.
 */
export function errorText(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `thrown: ${typeof error}`;
    // Its message may quote the request; the sender is told the details.
    if (error.name === "ZodError") return "ZodError";
    return masked(`${error.name}: ${error.message}`);
  } catch {
    return "an error that cannot be read";
  }
}

function masked(text: string): string {
  let known = text.slice(0, LOOKED_AT_MAX);
  // A truncated secret may match no pattern.
  if (text.length > LOOKED_AT_MAX) known = known.replace(/\S+$/, "");
  known = known.replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, " ");
  for (const [shape, becomes] of FOREIGN_SHAPES) known = known.replace(shape, becomes);
  known = withoutSecrets(known, "****").replace(LONG, "****");
  return known.length <= ERROR_TEXT_MAX ? known : `${known.slice(0, ERROR_TEXT_MAX).toWellFormed()}…`;
}
