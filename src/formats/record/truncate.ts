import { TEXT_MAX_CHARACTERS } from "../../base/limits.ts";
import type { ExceptionEntry, LogEntry, TraceRecord } from "./fields.ts";

/** What of a record has texts that are truncated. */
export type Texts = Pick<TraceRecord, "Exceptions" | "Logs">;

/** Ends a truncated exception message. Readers search for these two texts. */
export const EXCEPTION_MARKER = "<<<Logship: exception messages truncated>>>";
/** Ends a truncated log text, or replaces a whole log. */
export const LOG_MARKER = "<<<Logship: messages truncated>>>";

/**
 * Bounds the text in `Exceptions` and `Logs` together, in Unicode code points: exception names
 * count first and are never cut, then exception messages, then log texts, in order. The text that
 * exceeds the limit is cut and marked; the rest is dropped. After a cut, or with nothing left, one
 * log with only the marker replaces all later ones.
 *
 * If a log's first strings use up the limit exactly, its next non-empty one becomes the marker, and
 * they are kept.
 * @param limit in code points; a parameter only for tests.
 * @returns the record itself if it fits; otherwise a copy that shares what is unchanged.
 */
export function truncate<T extends Texts>(record: T, limit: number = TEXT_MAX_CHARACTERS): T {
  if (utf16Units(record) <= limit) return record;
  const budget = new Budget(limit);
  for (const { name } of record.Exceptions) budget.spend(name);
  const exceptions = cutExceptions(record.Exceptions, budget);
  const logs = cutLogs(record.Logs, budget);
  return budget.cut ? { ...record, Exceptions: exceptions, Logs: logs } : record;
}

function cutExceptions(exceptions: readonly ExceptionEntry[], budget: Budget): ExceptionEntry[] {
  const kept: ExceptionEntry[] = [];
  for (const exception of exceptions) {
    if (budget.spend(exception.message)) {
      kept.push(exception);
      continue;
    }
    kept.push({ ...exception, message: budget.head(exception.message) + EXCEPTION_MARKER });
    break;
  }
  return kept;
}

function cutLogs(logs: readonly LogEntry[], budget: Budget): LogEntry[] {
  const kept: LogEntry[] = [];
  for (const log of logs) {
    if (budget.cut || (budget.left === 0 && log.Message.some((text) => text !== ""))) {
      budget.cut = true;
      kept.push({ ...log, Message: [LOG_MARKER] });
      break;
    }
    const at = log.Message.findIndex((text) => !budget.spend(text));
    if (at === -1) kept.push(log);
    else kept.push({ ...log, Message: [...log.Message.slice(0, at), budget.head(log.Message[at] ?? "") + LOG_MARKER] });
  }
  return kept;
}

/** The rest of the limit. */
class Budget {
  /** Code points, never below 0. */
  left: number;
  /** Something was cut. */
  cut = false;
  /** What was left for the text that did not fit. */
  #short = 0;

  constructor(limit: number) {
    this.left = limit;
  }

  /** Subtracts a text; one that does not fit takes all that is left. @returns whether it fits. */
  spend(text: string): boolean {
    const length = codePoints(text);
    if (length <= this.left) {
      this.left -= length;
      return true;
    }
    this.#short = this.left;
    this.left = 0;
    return false;
  }

  /** The part of the text that did not fit for which there was room. */
  head(text: string): string {
    this.cut = true;
    let end = 0;
    for (let count = 0; count < this.#short; count++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
    return text.slice(0, end);
  }
}

/** An upper bound of the code points, without reading the texts. */
function utf16Units({ Exceptions, Logs }: Texts): number {
  let units = 0;
  for (const { name, message } of Exceptions) units += name.length + message.length;
  for (const { Message } of Logs) for (const text of Message) units += text.length;
  return units;
}

/** UTF-16 units minus surrogate pairs. */
function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count -= 1;
      i += 1;
    }
  }
  return count;
}
