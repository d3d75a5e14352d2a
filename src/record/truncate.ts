import { TEXT_MAX_CHARACTERS } from "../limits.ts";
import type { ExceptionEntry, LogEntry, TraceRecord } from "./fields.ts";

/** Ends an exception message that was cut. Readers search for these two texts. */
export const EXCEPTION_MARKER = "<<<Logship: exception messages truncated>>>";
/** Ends a log text that was cut, or stands for a whole log. */
export const LOG_MARKER = "<<<Logship: messages truncated>>>";

/**
 * Bounds what `Exceptions` and `Logs` of a record hold together, in Unicode code points: exception names count first and are never cut, then
 * exception messages, then log texts, each in order. The text that passes the limit is cut and marked; what follows is dropped. After a cut, or
 * where nothing is left, one log stands for all that follow, with the marker alone.
 *
 * Where a log's earlier strings use up the limit exactly, its next one that is not empty becomes the marker: those that fit are kept.
 * @param limit in code points; a parameter for the sake of the worked examples.
 * @returns the record itself if it fits, which is found out from lengths alone; otherwise a copy that shares what it did not change.
 */
export function truncate(record: TraceRecord, limit: number = TEXT_MAX_CHARACTERS): TraceRecord {
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

/** What is left of the limit. */
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

  /** Takes a text off; one that does not fit takes all. @returns whether it fits. */
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

  /** As much of the text that has just not fitted as was left for it. */
  head(text: string): string {
    this.cut = true;
    let end = 0;
    for (let count = 0; count < this.#short; count++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
    return text.slice(0, end);
  }
}

/** At least as many as code points, and at hand. */
function utf16Units({ Exceptions, Logs }: TraceRecord): number {
  let units = 0;
  for (const { name, message } of Exceptions) units += name.length + message.length;
  for (const { Message } of Logs) for (const text of Message) units += text.length;
  return units;
}

/** UTF-16 units, less one for each pair. */
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
