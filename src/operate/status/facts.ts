import type { Source } from "../../formats/record/source.ts";
import type { AccountStatus } from "../../ship/log/account-status.ts";
import type { JobStatus } from "../../ship/reader/statuses.ts";
import type { ReplayTrouble } from "../replay/replay-status.ts";
import type { FailingFunction } from "./failing.ts";
import type { KeptNothing, Mark } from "./marks.ts";
import type { ProblemFact } from "./problem-rules.ts";
import type { SearchFact } from "./search-rules.ts";
import type { SlowFunction } from "./slow.ts";

/** The value of an answer that did not come, or not in time. Never means "nothing is wrong". */
export const NO_ANSWER = "silent";

export type Answer<T> = T | typeof NO_ANSWER;

/** The input of the rules: everything known at one moment, about now and before. */
export interface Facts {
  nowMs: number;
  /** Malformed settings, each with the expected form; never a value. */
  configFaults: readonly string[];
  /** Whether the control plane answered; if not, `jobs` and `functions` are the last known. */
  controlAnswered: boolean;
  jobs: readonly JobFacts[];
  account: Answer<AccountFacts>;
  /** Functions with a setting or a rhythm. Silent when the ledger is: it counts their events. */
  functions: Answer<FunctionsFacts>;
  /** Of those whose logging is not off. */
  failing: Answer<readonly FailingFunction[]>;
  /** The same, by their times; absent: unknown. */
  slow?: readonly SlowFunction[];
  replays: Answer<readonly ReplayTrouble[]>;
  attachments: Answer<readonly KnownAttachment[]>;
  /** Saved searches with an alert. */
  searches: Answer<readonly SearchFact[]>;
  /** Those that are new, or came again after they were resolved. */
  problems: Answer<readonly ProblemFact[]>;
}

/** A job as last known, without secrets. */
export interface KnownJob {
  id: number;
  /** Since when it is enabled without a break, in ms; null: not enabled. */
  enabledSinceMs: number | null;
  deletedMs: number | null;
  /** The job that it is a rerun of; absent: it is none. */
  rerunOf?: number;
  /** From the intake of a record to the cut of its object, in ms. */
  intervalMs: number;
  hasFilter: boolean;
  sampleRate: number;
  /** The version of its last change. */
  modifiedVersion: number;
  destination: DestinationFact;
  /** Extra fields that it has though EXTRA_FIELDS names them no more; absent: none. */
  fieldsOff?: readonly string[];
  /** A newer version wrote it: all but its times is unknown. */
  isUnreadable?: true;
}

/**
 * Whether its destination can be used. `lost`: no key decrypts it; `unusable`: `why` says what is
 * wrong, without a value of it; `unknown`: the configuration is malformed, so nothing can be
 * decrypted.
 */
export type DestinationFact =
  /** `expiresMs`: when its credentials end; absent: it is not known, or never. */
  { kind: "ok"; expiresMs?: number } | { kind: "lost" | "unknown" } | { kind: "unusable"; why: string };

export interface JobFacts extends KnownJob {
  /** null: the log has no job yet. */
  status: Answer<JobStatus | null>;
  past: JobPast;
}

/**
 * What is remembered of a job between checks; null: this is the first check, or its log is silent.
 */
export interface JobPast {
  filter: KeptNothing | null;
  sample: KeptNothing | null;
  /** Records in rejected objects. */
  setAside: Mark | null;
}

export interface AccountFacts {
  status: AccountStatus;
  /** Messages that are set aside now. */
  setAside: AccountStatus["setAsideMessages"];
  past: { notRouted: Mark; intakeLost: Mark; intakeUnfit: Mark; setAside: Mark };
  /** Since when every check saw a backlog in the queue, in ms; null: none. */
  backlogSinceMs: number | null;
  /** The rhythm of all events together; null: not known yet. */
  usual: Usual | null;
}

/** A learned rhythm of events; known after a day at the earliest. */
export interface Usual {
  /** The last event, in ms since the epoch. */
  lastMs: number;
  /** The longest pause in the fourteen days before that, in ms. */
  longestGapMs: number;
  /** As of {@link FunctionFacts}. */
  sender?: Source;
}

export interface FunctionsFacts {
  /** Until when their events are counted, in ms; later ones may still be in the queue. */
  countedUntilMs: number;
  each: readonly FunctionFacts[];
  /**
   * The last event whose name could not be counted for lack of room, in ms; null: all were. Any
   * function may have sent it.
   */
  unnamedMs: number | null;
  /** How many names there is no room to learn. */
  notWatched: number;
  /** Kinds of events that are expected of them; absent: none. */
  kinds?: readonly KindFacts[];
}

/** A kind of event that a function is expected to have. */
export interface KindFacts {
  name: string;
  /** As of {@link FunctionFacts}. */
  sender?: Source;
  /** As of `SeenKind`. */
  kind: string;
  /** The last event, in ms since the epoch; null: there was none since it is expected. */
  lastMs: number | null;
  /** It is quiet after this, in ms since the epoch. */
  quietAfterMs: number;
  /** What tells when it is: its expression, what is set, or its longest pause… */
  by: "cron" | "set" | "learned";
  /** …in ms; 0 of a cron. */
  everyMs: number;
}

export interface FunctionFacts {
  name: string;
  /** Who names it; absent: the platform, a setting, or it is unknown. */
  sender?: Source;
  logging: "on" | "off" | "unset";
  /** When that was set, in ms; null: never. */
  setMs: number | null;
  /** Events dropped today and yesterday because logging is off. */
  dropped: number;
  /** The last event, in ms; null: none in thirty days. */
  lastEventMs: number | null;
  usual: Usual | null;
}

/**
 * A function attached through the API, and whether the platform still has it attached. `undone`: no
 * longer attached; `gone`: no such function; `unknown`: the platform does not answer.
 */
export interface KnownAttachment {
  script: string;
  state: "attached" | "undone" | "gone" | "unknown";
  sinceMs: number;
  /** Without the name, the platform's own texts, and secrets. */
  why: string;
}
