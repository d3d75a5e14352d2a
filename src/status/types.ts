/** What a finding is about. */
export type Subject =
  | { readonly type: "account" }
  | { readonly type: "job"; readonly id: number }
  | { readonly type: "function"; readonly name: string };

/** Something that is wrong now, or will be if nobody looks. Derived from facts by rules alone: it knows of no earlier one. */
export interface Finding {
  /** What is wrong, as one word of the closed list in rules.ts. With the subject it tells findings apart. */
  readonly kind: string;
  readonly subject: Subject;
  /** `error`: records are not arriving, or are lost; `warning`: they may be soon, or nobody can tell. */
  readonly severity: "error" | "warning";
  /** Since when, in ms since the epoch, as far as the facts tell; null: since it was first seen. */
  readonly sinceMs: number | null;
  /** How much is affected; null: that cannot be counted. */
  readonly affected: { readonly count: number; readonly what: "records" | "events" | "messages" | "objects" } | null;
  /** What is wrong, as a sentence. Holds no text of a record. */
  readonly summary: string;
  /** What to do about it, as a sentence. */
  readonly advice: string;
}
