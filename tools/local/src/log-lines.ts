/** Longest line of a function's log that is shown, in UTF-16 units; all of it is in the record. */
const LINE_MAX = 2_000;

/** Most lines shown of one invocation. */
const LINES_MAX = 200;

/** The parts of a trace item that are shown. */
export interface Logged {
  readonly logs?: readonly { readonly level: string; readonly message: unknown }[];
  readonly exceptions?: readonly { readonly name: string; readonly message: string }[];
}

/** The log lines and exceptions of an invocation, for a terminal: one text may be many lines. */
export function logLines({ logs = [], exceptions = [] }: Logged): string[] {
  const texts = [
    ...logs.map(({ level, message }) => `${level === "log" ? "" : `${level}: `}${textOf(message)}`),
    ...exceptions.map(({ name, message }) => `thrown: ${name}: ${message}`),
  ];
  const lines = texts.flatMap((text) => text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/));
  const shown = lines.slice(0, LINES_MAX).map((line) => line.slice(0, LINE_MAX));
  return lines.length > LINES_MAX ? [...shown, `… and ${lines.length - LINES_MAX} more lines`] : shown;
}

function textOf(message: unknown): string {
  const parts: unknown[] = Array.isArray(message) ? message : [message];
  return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ");
}
