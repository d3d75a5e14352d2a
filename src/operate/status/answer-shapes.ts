/**
 * The shape that each answer must have before the rules use it. During a deployment another durable
 * object may run older code: an answer without the expected fields would look healthy, or break the
 * whole check.
 */
import * as z from "zod";

const Ms = z.number().nullable();
const numbers = <K extends string>(...names: K[]) =>
  z.looseObject(Object.fromEntries(names.map((name) => [name, z.number()])) as Record<K, z.ZodNumber>);

const Log = z
  .looseObject({
    counts: numbers("received", "filtered", "sampled_out", "delivered", "pending", "set_aside", "discarded"),
    oldestPendingTakenMs: Ms,
    errorMessage: z.string().nullable(),
    lastReceivedMs: Ms,
    failingSinceMs: Ms,
    parked: z.boolean(),
    storedBytes: z.number(),
    segments: z.number(),
    openBytes: z.number(),
    unread: z.looseObject({ records: z.number(), bytes: z.number(), oldestMs: Ms, sinceMs: Ms }),
    unmade: z.looseObject({ poison: z.number(), newer: z.number(), entries: z.number(), oldestAtMs: Ms }),
    lastDay: numbers("objects", "bytes"),
    scripts: z.number().optional(),
    setAside: z.looseObject({ objects: z.number(), records: z.number(), oldestMs: Ms }),
    canary: z
      .looseObject({
        state: z.enum(["ok", "waiting", "failed", "missing", "damaged", "unreadable"]),
        sinceMs: z.number(),
        why: z.string().nullable(),
      })
      .nullable(),
    manifests: z.looseObject({ failingSinceMs: Ms, why: z.string().nullable() }).nullable().optional(),
  })
  .nullable();

const Slots = z.array(
  z.looseObject({
    ...{ scriptName: z.string(), source: z.string() },
    slots: z.array(numbers("slot", "events", "failed", "firstFailedMs")),
    versions: z
      .array(z.looseObject({ ...{ version: z.string(), tag: z.string(), firstMs: z.number() }, failed: z.number() }))
      .optional(),
  }),
);

const Times = z.array(
  z.looseObject({
    ...{ scriptName: z.string(), source: z.string(), usual: z.array(z.number()) },
    slots: z.array(z.looseObject({ slot: z.number(), events: z.number(), wall: z.array(z.number()) })),
  }),
);

const Account = z.looseObject({
  counts: numbers("processed", "routed", "not_enabled", "not_routed", "set_aside", "discarded"),
  intakeLost: z.number(),
  intakeUnfit: z.number(),
  oldestUnfinishedMs: Ms,
  queueBacklog: z.number().nullable(),
  queueBytes: z.number().nullable(),
  queueSeenMs: Ms,
  setAsideMessages: z.looseObject({
    messages: z.number(),
    events: z.number(),
    oldestMs: Ms,
    stopsClaims: z.boolean(),
  }),
  storedBytes: z.number(),
  load: numbers("parts", "bytes").nullable(),
  failing: Slots,
  slower: Times.optional(),
  inSeconds: z.array(numbers("events", "lastMs")),
  crowded: z.array(z.looseObject({ source: z.string(), what: z.enum(["refused", "summed"]) })),
  keptSinceMs: Ms.optional(),
  restored: z.looseObject({ who: z.enum(["shard", "reader"]), job: z.number(), atMs: z.number() }).nullable(),
});

const Counts = z.array(
  z.looseObject({
    scriptName: z.string().nullable(),
    routed: z.number(),
    notEnabled: z.number(),
    notRouted: z.number(),
    lastEventMs: z.number(),
  }),
);

const Settings = z.array(
  z.looseObject({
    ...{ name: z.string(), logging: z.enum(["on", "off", "unset"]), modifiedMs: z.number() },
    expect: z
      .array(z.looseObject({ kind: z.string(), everyMinutes: z.number().nullable(), setMs: z.number() }))
      .optional(),
  }),
);

const Last = z.array(z.looseObject({ scriptName: z.string(), lastEventMs: z.number() }));

const Replays = z.array(
  z.looseObject({ job: z.number(), sinceMs: z.number(), error: z.string(), objectsLeft: z.number() }),
);

const Searches = z.array(
  z.looseObject({
    ...{ id: z.number(), stamp: z.string(), total: z.number() },
    buckets: z.array(z.tuple([z.number(), z.number(), z.string()])),
    sinceMs: z.number().optional(),
  }),
);

const Attachments = z.array(
  z.looseObject({
    script: z.string(),
    state: z.enum(["attached", "undone", "gone", "unknown"]),
    sinceMs: z.number(),
    why: z.string(),
  }),
);

const Problems = z.looseObject({
  problems: z.array(
    z.looseObject({
      ...{ id: z.string(), scriptName: z.string(), source: z.string() },
      ...{ count: z.number(), bornMs: z.number(), seenMs: z.number() },
    }),
  ),
});

const Versions = z.array(z.looseObject({ version: z.string(), tag: z.string() }));

export const ANSWER = {
  ...{ Log, Account, Counts, Settings, Last, Replays, Searches, Attachments, Problems, Versions },
} as const;

/** @returns the answer if it has the shape. @throws Error that repeats nothing of the answer. */
export function checked<T>(of: z.ZodType, answer: T): T {
  const { error } = of.safeParse(answer);
  if (error === undefined) return answer;
  throw new Error(`the answer is malformed at /${error.issues[0]?.path.join("/") ?? ""}`);
}
