import type { AccountStatus } from "../account/ledger.ts";
import type { LogStatus } from "../delivery/types.ts";
import type { OutboxStatus } from "../intake/outbox.ts";
import type { KeptNothing, Mark } from "./marks.ts";

/** What somebody was asked for and did not tell, in time or at all. Never to be taken for "nothing is wrong". */
export const SILENT = "silent";

export type Told<T> = T | typeof SILENT;

/** What the rules look at: everything that is known at one moment, of now and of before. */
export interface Facts {
  nowMs: number;
  /** Settings that are malformed, each with what it should be; never a value. */
  configFaults: readonly string[];
  /** The control plane told its jobs; if it did not, `jobs` and `functions` follow what it told last. */
  controlTold: boolean;
  jobs: readonly JobFacts[];
  account: Told<AccountFacts>;
  outbox: Told<OutboxStatus>;
  /** Of functions that anything is to be said of. Silent where the ledger is: their events are not known. */
  functions: Told<FunctionsFacts>;
  replays: Told<readonly WaitingReplay[]>;
  attachments: Told<readonly KnownAttachment[]>;
}

/** A job as it was last told, without what opens anything. */
export interface KnownJob {
  id: number;
  /** Since when it is enabled without a break, in ms; null: it is not. */
  enabledSinceMs: number | null;
  deletedMs: number | null;
  /** From the intake of a record to the cut of its object, in ms. */
  intervalMs: number;
  hasFilter: boolean;
  sampleRate: number;
  /** At which it was last changed. */
  modifiedVersion: number;
  destination: DestinationFact;
}

/**
 * Whether its destination can be read: by `lost`, no key opens it; by `unusable`, it opens, and cannot be used, for a reason in words that hold no value
 * of it. `unknown`: the configuration is malformed, and nothing can be opened.
 */
export type DestinationFact = { kind: "ok" | "lost" | "unknown" } | { kind: "unusable"; why: string };

export interface JobFacts extends KnownJob {
  /** null: the log has never been given its job. */
  log: Told<LogStatus | null>;
  past: JobPast;
}

/** What is remembered of a job from one look to the next; null: this is the first look, or its log is silent. */
export interface JobPast {
  filter: KeptNothing | null;
  sample: KeptNothing | null;
  /** Of objects that the store refused. */
  setAside: Mark | null;
}

export interface AccountFacts {
  status: AccountStatus;
  /** Messages that were set aside and are still there: how many, with how many events, and since when. */
  setAside: { messages: number; events: number; oldestMs: number | null };
  past: { notRouted: Mark; intakeLost: Mark; setAside: Mark };
  /** Since when the queue has had a backlog at every look, in ms; null: it has none worth the name. */
  backlogSinceMs: number | null;
  /** How long it is usual that no event comes at all; null: not known yet. */
  usual: Usual | null;
}

/** How somebody's events usually come: learned, and never from a single day. */
export interface Usual {
  /** The last one, in ms since the epoch. */
  lastMs: number;
  /** The longest pause in the fourteen days before that one, in ms. */
  longestGapMs: number;
}

export interface FunctionsFacts {
  /** Until when their events are counted, in ms: what was taken in later may be on its way. */
  countedUntilMs: number;
  each: readonly FunctionFacts[];
  /** When an event last came of a function whose name there was no room for, in ms; null: there was room for all. It may be any of them. */
  unnamedMs: number | null;
  /** Names of which there are too many to learn how their events come. */
  notWatched: number;
}

export interface FunctionFacts {
  name: string;
  logging: "on" | "off" | "unset";
  /** When that was set, in ms; null: it never was. */
  setMs: number | null;
  /** Events that were dropped because logging is off, today and yesterday. */
  dropped: number;
  /** Of the latest event, in ms; null: there was none for thirty days, or ever. */
  lastEventMs: number | null;
  usual: Usual | null;
}

/** A replay that cannot go on. */
export interface WaitingReplay {
  id: string;
  job: number;
  sinceMs: number;
  /** In words that hold no text of a record. */
  error: string;
  /** Objects that it has not shipped again yet. */
  objectsLeft: number;
}

/**
 * A function that somebody attached to this service through its API, and whether the platform still has it so. `undone`: it has not, any more; `gone`: it
 * has no such function; `unknown`: it does not tell.
 */
export interface KnownAttachment {
  script: string;
  state: "attached" | "undone" | "gone" | "unknown";
  sinceMs: number;
  /** In words, without the name: neither a text of the platform's nor a secret. */
  why: string;
}
