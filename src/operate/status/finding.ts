import type { Source } from "../../formats/record/source.ts";

/** What a finding is about. */
export type Subject =
  | { readonly type: "account" }
  | { readonly type: "job"; readonly id: number }
  | { readonly type: "function"; readonly name: string }
  /** `name` is its owner's. */
  | { readonly type: "search"; readonly id: number; readonly name: string };

/**
 * What could be better, though nothing is wrong: it opens no incident, and changes nothing itself.
 */
export interface Notice {
  readonly kind: "many_small_objects";
  readonly subject: Subject;
  /** Both as of {@link Finding}. */
  readonly summary: string;
  readonly advice: string;
}

/** A problem now, or soon. Derived from the facts alone, without regard to earlier findings. */
export interface Finding {
  /** One of kinds.ts. */
  readonly kind: string;
  readonly subject: Subject;
  /** Of a receiver of alerts that fails: which one. `name` is its owner's. */
  readonly receiver?: { readonly id: number; readonly name: string };
  /** Of a finding about a rerun of the job: `r57`. */
  readonly rerun?: string;
  /** Of a finding about what a sender of events names: who, as in records; absent: the platform. */
  readonly sender?: Source;
  /** Of a finding about a kind of event of the function: which, as of `SeenKind`. */
  readonly eventKind?: string;
  /** Of a finding about a problem: its id. */
  readonly problem?: string;
  /** Of a finding about a job that has a name: what its owner calls it. */
  readonly jobName?: string;
  /**
   * `error`: records are not arriving, or are lost; `warning`: they soon may be, or it is unknown.
   */
  readonly severity: "error" | "warning";
  /** In ms since the epoch, as far as the facts tell; null: since it was first seen. */
  readonly sinceMs: number | null;
  /** null: cannot be counted. */
  readonly affected: { readonly count: number; readonly what: "records" | "events" | "messages" | "objects" } | null;
  /** What is wrong, as a sentence without text of a record. */
  readonly summary: string;
  /** What to do about it, as a sentence. */
  readonly advice: string;
  /** Where to read on; absent: nowhere else than at its subject. */
  readonly links?: Links;
}

/** What a finding leads to, as far as the facts tell. */
export interface Links {
  /** Id of a problem. */
  readonly problem?: string;
  /** The first record that it is about; `rayId` null: it has none, or it is unknown. */
  readonly firstRecord?: RecordPlace;
  /** The deployed version in which it began, by the name that its owner gave it, or its id. */
  readonly version?: string;
}

/** Where one record is found. */
export interface RecordPlace {
  readonly script: string;
  /** Time of its event, in ms since the epoch. */
  readonly atMs: number;
  readonly rayId: string | null;
}

/** What identifies a finding: kind, subject, rerun, receiver, event kind, sender, problem. */
export function keyOf({
  kind,
  subject,
  rerun,
  receiver,
  eventKind,
  sender,
  problem,
}: Pick<Finding, "kind" | "subject" | "rerun" | "receiver" | "eventKind" | "sender" | "problem">): string {
  if (receiver !== undefined) return JSON.stringify([kind, "receiver", receiver.id]);
  if (subject.type === "job") return JSON.stringify([kind, "job", subject.id, ...(rerun === undefined ? [] : [rerun])]);
  if (subject.type === "search") return JSON.stringify([kind, "search", subject.id]);
  const own = subject.type === "function" ? [kind, "function", subject.name] : [kind, "account"];
  const more = JSON.stringify({ eventKind, sender, problem });
  return more === "{}" ? JSON.stringify(own) : `${JSON.stringify(own).slice(0, -1)},${more}]`;
}
