/** A rule of the source, and what the source says without it. */
export interface Mutant {
  rule: string;
  /** Below src. */
  file: string;
  from: string;
  to: string;
  /** A run without the rule fails with this seed. */
  seed: number;
  /** What such a run does, to be found soon. */
  force: string;
}

/** Each is the source without one rule, which a run notices: `npm run schedule -- --mutant noDedupe`. */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  noDedupe: {
    rule: "a part that is known is not new",
    file: "trace-log/trace-log.ts",
    from: "const known = this.#ids.known(parts);\n    const isOld",
    to: "const known = new Set<string>();\n    const isOld",
    seed: 1,
    force: "deaths,losses",
  },
  acksFirst: {
    rule: "a message is acknowledged after its append",
    file: "pipeline/consume.ts",
    from: "    try {\n      const done = await commitGroup(",
    to: "    for (const { delivery } of members) delivery.ack();\n    try {\n      const done = await commitGroup(",
    seed: 1,
    force: "losses",
  },
  answersBeforeDisk: {
    rule: "the ids, the block and the counts are one transaction",
    file: "trace-log/trace-log.ts",
    from: "    this.#remember(offers);\n    if (block !== null) this.#add(block, nowMs);",
    to: "    this.#remember(offers);\n    if (block !== null) void this.ctx.storage.sync().then(() => this.#add(block, nowMs));",
    seed: 1,
    force: "deaths",
  },
  losesOpenEntries: {
    rule: "a job whose fragment cannot be used gets an open entry",
    file: "trace-log/trace-log.ts",
    from: "      const received = offered.reduce(",
    to: "      if (append.prepared.length > 0) continue;\n      const received = offered.reduce(",
    seed: 1,
    force: "changes,losses,outages",
  },
  preparedOfOldVersion: {
    rule: "a fragment of another version is not used",
    file: "trace-log/trace-log.ts",
    from: "each.id === job && each.stamp === stamp",
    to: "each.id === job && stamp !== null",
    seed: 1,
    force: "changes,losses,outages",
  },
  preparedWithKnown: {
    rule: "a fragment is used only if all its parts are new",
    file: "trace-log/trace-log.ts",
    from: "parts.length === fresh.length && again.length === 0",
    to: "true",
    seed: 1,
    force: "losses,queue",
  },
  dropsWhenOneHasRead: {
    rule: "a block is dropped when all its jobs have read it",
    file: "trace-log/blocks.ts",
    from: "if (jobs.some((job) => cursorOf(job) < n)) continue;",
    to: "if (jobs.every((job) => cursorOf(job) < n)) continue;",
    seed: 1,
    force: "outages",
  },
  commitsWithoutCompare: {
    rule: "a commit compares the cursor with that of its read, and there is one pull at a time",
    file: "delivery/reading.ts",
    from: "if (state.requireRow().cursor !== cursor) return true;",
    to: "",
    seed: 1,
    force: "deaths",
  },
  cursorBeforeRecords: {
    rule: "the cursor moves with the records",
    file: "delivery/reading.ts",
    from: "      const isCut = this.#commit(page, cursor, made, cut);",
    to: "      state.read([], page.end, 0, platform.now());\n      await this.#storage.sync();\n      const isCut = this.#commit(page, page.end, made, cut);",
    seed: 1,
    force: "deaths",
  },
  newSegmentFromZero: {
    rule: "a new segment begins where the one before sealed",
    file: "delivery/reading.ts",
    from: "const cursor = row?.cursor ?? from;",
    to: "const cursor = row?.cursor ?? 0;",
    seed: 1,
    force: "segments,outages",
  },
  countsWithoutProof: {
    rule: "an object counts as delivered once the store has shown it",
    file: "delivery/attempts.ts",
    from: 'case "failed":\n        return this.#fail(object, outcome.error, outcome.mayBeThere',
    to: 'case "failed":\n        if (outcome.error.kind === "unreachable") {\n          objects.markDelivered(object, false, job.destinationVersion, now);\n          return endOf("delivered", outcome);\n        }\n        return this.#fail(object, outcome.error, outcome.mayBeThere',
    seed: 1,
    force: "stores",
  },
  noAlarm: {
    rule: "an append sets the alarm",
    file: "trace-log/trace-log.ts",
    from: "this.#alarm.set(Math.min(Number.POSITIVE_INFINITY, ...next), nowMs);",
    to: "",
    seed: 1,
    force: "deaths",
  },
  noReaderAlarm: {
    rule: "a reader sets its alarm",
    file: "delivery/job-reader.ts",
    from: "this.#alarm.set(due, nowMs);",
    to: "",
    seed: 1,
    force: "deaths",
  },
  answersBeforeShards: {
    rule: "a change is answered when all shards have it",
    file: "control/plane.ts",
    from: "const missing = await this.#rollout.bring();",
    to: "const missing: number[] = [];\n    void this.#rollout.bring();",
    seed: 1,
    force: "changes,shards,outages",
  },
  joinNotNoted: {
    rule: "a join adds the shard to the list",
    file: "control/plane.ts",
    from: "this.#rollout.change(() => this.#state.addShard(shard));",
    to: "",
    seed: 1,
    force: "changes,shards",
  },
  switchKeepsVersions: {
    rule: "a switch of a function's logging is a new version of each job",
    file: "control/plane.ts",
    from: "this.#state.optOutsChanged(given, now);",
    to: "",
    seed: 1,
    force: "switches,losses,outages",
  },
  holdForgetsIds: {
    rule: "what is on hold is known",
    file: "trace-log/trace-log.ts",
    from: "this.#ids.remember(unknown.filter(byMinute));",
    to: "",
    seed: 1,
    force: "dead,outages,queue",
  },
  resendInTwoSteps: {
    rule: "sending again adds the block and deletes the message in one transaction",
    file: "trace-log/trace-log.ts",
    from: "const removed = this.#hold.remove(id) ?? 0;",
    to: "const removed = 0;\n      void this.ctx.storage.sync().then(() => this.#hold.remove(id));",
    seed: 1,
    force: "dead,outages,deaths",
  },
  keyedByIdAlone: {
    rule: "a further copy of a request goes to jobs that were offered none",
    file: "trace-log/trace-log.ts",
    from: "for (const part of again) this.#addAgain(part, append, nowMs);",
    to: "",
    seed: 1,
    force: "keyed,changes",
  },
  keyedToAll: {
    rule: "a further copy of a request does not go to jobs that were offered one",
    file: "trace-log/trace-log.ts",
    from: "const jobs = offer.jobs.filter(({ id }) => known?.jobs.includes(id) === false);",
    to: "const jobs = offer.jobs;",
    seed: 1,
    force: "keyed",
  },
};
