/** A rule of the source, and what the source says without it. */
export interface Mutant {
  rule: string;
  /** Below src. */
  file: string;
  from: string;
  to: string;
  /** What runs do that fail soon. */
  force: string;
  /** Most of these runs fail: each change is tested with it. */
  isFrequent?: true;
}

/**
 * Each is the source without one rule, which runs notice: `npm run schedule -- --mutant noDedupe`.
 * No seed is noted, as any change of the source draws other runs.
 */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  noDedupe: {
    rule: "a part that is known is not new",
    file: "ship/log/trace-log.ts",
    from: "const known = this.#ids.known(parts);\n    const isOld",
    to: "const known = new Set<string>();\n    const isOld",
    force: "deaths,losses",
    isFrequent: true,
  },
  acksFirst: {
    rule: "a message is acknowledged after its append",
    file: "ship/consumer/consume.ts",
    from: "    try {\n      const done = await appendGroup(",
    to: "    for (const { delivery } of members) delivery.ack();\n    try {\n      const done = await appendGroup(",
    force: "losses",
  },
  answersBeforeDisk: {
    rule: "the ids, the block and the counts are one transaction",
    file: "ship/log/trace-log.ts",
    from: "    this.#remember(offers);\n    if (block !== null) this.#add(block, nowMs);",
    to: "    this.#remember(offers);\n    if (block !== null) void this.ctx.storage.sync().then(() => this.#add(block, nowMs));",
    force: "deaths",
    isFrequent: true,
  },
  losesOpenEntries: {
    rule: "a job whose fragment cannot be used gets an open entry",
    file: "ship/log/offers.ts",
    from: "    const received = offered.reduce(",
    to: "      if (append.prepared.length > 0) continue;\n      const received = offered.reduce(",
    force: "changes,losses,outages",
  },
  preparedOfOldVersion: {
    rule: "a fragment of another version is not used",
    file: "ship/log/offers.ts",
    from: "each.id === job && each.stamp === stamp",
    to: "each.id === job && stamp !== null",
    force: "changes,losses,outages",
  },
  groupsUnchecked: {
    rule: "a fragment is used only if it has exactly the parts that the job is offered, all of them new",
    file: "ship/log/offers.ts",
    from: "const prepared = isWhole ? preparedFor(append, job.id, stamp, ids) : null;",
    to: "const group = append.prepared.find(({ jobs }) => jobs.some((each) => each.id === job.id && each.stamp === stamp));\n      const share = group?.jobs.find((each) => each.id === job.id);\n      const prepared = group !== undefined && share !== undefined ? { share, group } : null;",
    force: "losses,deaths,queue",
  },
  dropsWhenOneHasRead: {
    rule: "a block is dropped when all its jobs have read it",
    file: "ship/log/blocks.ts",
    from: "shares.every(([job]) => cursorOf(job) >= n)",
    to: "shares.some(([job]) => cursorOf(job) >= n)",
    force: "outages,squeezed",
    isFrequent: true,
  },
  cursorBeforeRecords: {
    rule: "the cursor moves with the records",
    file: "ship/reader/reading.ts",
    from: "      const isCut = this.#commit(page, cursor, made, cut);",
    to: "      state.read([], page.end, 0, platform.now());\n      await this.#storage.sync();\n      const isCut = this.#commit(page, page.end, made, cut);",
    force: "deaths",
  },
  newSegmentFromZero: {
    rule: "a new segment begins where the one before sealed",
    file: "ship/reader/reading.ts",
    from: "const cursor = row?.cursor ?? from;",
    to: "const cursor = row?.cursor ?? 0;",
    force: "segments,outages",
    isFrequent: true,
  },
  countsWithoutProof: {
    rule: "an object counts as delivered once the store has shown it",
    file: "ship/reader/attempts.ts",
    from: 'case "failed":\n        return this.#fail(object, failedOf(outcome, tried), now);',
    to: 'case "failed":\n        if (outcome.error.kind === "unreachable") {\n          objects.markDelivered(object, false, job.destinationVersion, now);\n          return endOf("delivered", outcome);\n        }\n        return this.#fail(object, failedOf(outcome, tried), now);',
    force: "stores",
    isFrequent: true,
  },
  noAlarm: {
    rule: "an append sets the alarm",
    file: "ship/log/trace-log.ts",
    from: "this.#alarm.set(Math.min(Number.POSITIVE_INFINITY, ...next), nowMs);",
    to: "",
    force: "deaths",
  },
  noReaderAlarm: {
    rule: "a reader sets its alarm",
    file: "ship/reader/job-reader.ts",
    from: "this.#alarm.set(due, nowMs);",
    to: "",
    force: "deaths,stores",
  },
  noAlarmWhileReading: {
    rule: "an alarm is set for what is being read, too",
    file: "ship/log/trace-log.ts",
    from: "      if (ended !== undefined && ended !== job.id) return Number.POSITIVE_INFINITY;\n      return dueMs > nowMs ? dueMs : nowMs + READING_MS;",
    to: "      return Number.POSITIVE_INFINITY;",
    force: "deaths,losses,outages",
  },
  sealedReadsOn: {
    rule: "a sealed reader passes no record by",
    file: "ship/reader/reading.ts",
    from: "isSealed ? { ...answer, items: [], end: cursor, isAll: true } :",
    to: "isSealed ? { ...answer, items: [] } :",
    force: "segments,deaths,losses",
  },
  positionsLeap: {
    rule: "positions of a restored shard stay times, so that another restore repeats none",
    file: "ship/log/blocks.ts",
    from: "return lost < nowMs * PER_MS ? lost : lost + LOST_MS * PER_MS;",
    to: "return lost + LOST_MS * PER_MS + 0 * nowMs;",
    force: "restores,losses,outages,deaths",
  },
  idsAgain: {
    rule: "a restored control plane gives no id again, whether or not a shard tells what it knows",
    file: "state/control/plane.ts",
    from: "id = this.#state.nextId(!isSure, now);\n      const config = created(",
    to: "id = this.#state.nextId(isSure && false, now);\n      const config = created(",
    force: "restores,losses,outages",
  },
  completeReadersFirst: {
    rule: "up to when a job is complete, the shards are asked before the readers",
    file: "ship/reader/job-status.ts",
    from: "claims ? completeUpTo(jobId, nodes, shards) : 0;",
    to: "claims ? completeUpTo(jobId, nodes, await shardsStatus(env, [jobId])) : 0;",
    force: "claims,losses",
  },
  answersBeforeShards: {
    rule: "a change is answered when all shards have it",
    file: "state/control/plane.ts",
    from: "const missing = await this.#rollout.bring();\n    await settled(windows);",
    to: "const missing: number[] = [];\n    void this.#rollout.bring();\n    await settled(windows);",
    force: "changes,shards,outages",
  },
  joinNotNoted: {
    rule: "a join adds the shard to the list",
    file: "state/control/plane.ts",
    from: "this.#rollout.change(() => this.#state.addShard(shard));",
    to: "",
    force: "changes,shards",
  },
  switchKeepsVersions: {
    rule: "a switch of a function's logging is a new version of each job",
    file: "state/control/plane.ts",
    from: "this.#state.optOutsChanged(given, now);",
    to: "",
    force: "switches,losses,outages",
  },
  holdForgetsIds: {
    rule: "what is on hold is known",
    file: "ship/log/trace-log.ts",
    from: "this.#ids.remember(unknown.filter(byMinute));",
    to: "",
    force: "dead,outages,queue",
  },
  resendInTwoSteps: {
    rule: "sending again adds the block and deletes the message in one transaction",
    file: "ship/log/trace-log.ts",
    from: "const removed = this.#hold.remove(id) ?? 0;",
    to: "const removed = 0;\n      void this.ctx.storage.sync().then(() => this.#hold.remove(id));",
    force: "dead,outages,deaths",
  },
  keyedByIdAlone: {
    rule: "a further copy of a request goes to jobs that were offered none",
    file: "ship/log/trace-log.ts",
    from: "for (const part of again) this.#addAgain(part, append, nowMs);",
    to: "",
    force: "keyed,changes",
  },
  keyedToAll: {
    rule: "a further copy of a request does not go to jobs that were offered one",
    file: "ship/log/trace-log.ts",
    from: "known?.jobs.includes(job.id) === false && !finds(job);",
    to: "known !== null && !finds(job);",
    force: "keyed",
    isFrequent: true,
  },
};

/** The source without the rule. @throws if it does not have that place, or has it twice. */
export function without({ file, from, to }: Mutant, source: string): string {
  if (source.split(from).length !== 2) throw new Error(`src/${file} does not have this once: ${from}`);
  return source.replace(from, () => to);
}
