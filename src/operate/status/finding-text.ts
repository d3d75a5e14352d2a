import { answerIn, remedyFor } from "../../ship/destinations/remedies.ts";
import type { Finding } from "./finding.ts";
import type { Kind } from "./kinds.ts";

/** A finding of one of the rules. */
export type Found = Finding & { readonly kind: Kind };

/** The same without its subject. */
export type Rest = Omit<Found, "subject">;

/**
 * The head of a finding.
 * @param sinceMs null: since it was first seen.
 * @param count of what is affected; absent: it cannot be counted.
 */
export function head<K extends string>(
  kind: K,
  severity: Finding["severity"],
  sinceMs: number | null = null,
  count: number | null = null,
  what: NonNullable<Finding["affected"]>["what"] = "records",
): Pick<Finding, "severity" | "sinceMs" | "affected"> & { kind: K } {
  return { kind, severity, sinceMs, affected: count === null ? null : { count, what } };
}

/**
 * Why uploads fail, for the middle of a sentence. Repeats nothing of the message but what
 * {@link answerIn} reads.
 */
export function causeIn(errorMessage: string | null): string {
  const answer = answerIn(errorMessage);
  if (answer !== null && (answer.status < 200 || answer.status > 299))
    return `the destination answers HTTP ${answer.status}${answer.code === null ? "" : ` ${answer.code}`}`;
  const message = errorMessage ?? "";
  if (/timeout|no answer/.test(message)) return "the destination does not answer in time";
  if (/connection failed/.test(message)) return "the connection to the destination fails";
  if (/the store (keeps|does not show)|does not keep|not there/.test(message))
    return "the destination does not keep what it accepts";
  if (/another object stands/.test(message)) return "another object already exists at every key";
  if (/configuration:/.test(message)) return "the configuration is malformed";
  return "see the error_message of the job";
}

/** Advice for a parked job. @param errorMessage as of {@link causeIn}. */
export function parkedAdvice(errorMessage: string | null): string {
  const remedy = remedyFor(errorMessage) ?? "Read the job's error_message and fix what it names.";
  return `${remedy} To ship elsewhere, change the job's destination. Records are kept: logship retries every few minutes, and whenever you edit the job.`;
}

/** A function's name, made safe for a sentence: senders choose it. */
export function shown(name: string): string {
  const plain = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}"]/gu, "\ufffd");
  const cut = [...plain].slice(0, 64).join("");
  return `"${cut}${cut.length < plain.length ? "…" : ""}"`;
}

/** Some names, and how many more there are. */
export function shownSome(names: readonly string[], max = 5): string {
  const more = names.length > max ? ` and ${names.length - max} more` : "";
  return `${names.slice(0, max).map(shown).join(", ")}${more}`;
}

/** A duration, rounded down to its largest unit. */
export function span(ms: number): string {
  const units = [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
  ] as const;
  for (const [unit, unitMs] of units) {
    const n = Math.floor(ms / unitMs);
    if (n >= 1) return `${n} ${unit}${n === 1 ? "" : "s"}`;
  }
  return "less than a minute";
}

/** `4.2`, of bytes. */
export function shownGB(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

/** `42 kB` or `3.1 MB`; at least 1 kB. */
export function shownSize(bytes: number): string {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
