import type { Force } from "./world.ts";

/** Shown to matter: a run without the rule fails with this seed. */
export interface Shown {
  rule: string;
  seed: number;
  /** What such a run does, to be found soon. */
  force?: Force[];
}
/** No run has shown that it matters, and why it is kept. */
export interface NotShown {
  rule: string;
  unseen: string;
}
const shown = (rule: string, seed: number, ...force: Force[]): Shown => ({
  rule,
  seed,
  ...(force.length > 0 && { force }),
});
const notShown = (rule: string, unseen: string): NotShown => ({ rule, unseen });

/**
 * Mutants of the model: each leaves one rule out. A name that begins with `text` is an earlier
 * wording of the rule, which had a hole. `npm run model -- find 1000` finds seeds anew.
 */
export const MUTANTS = {
  // Deduplication and holds.
  noDedupe: shown("a part that is known is not new", 1),
  keyedByIdAlone: shown("a further copy of a keyed part goes to jobs that were not offered one before", 66),
  noTooOld: shown("a part older than the last sweep is not new", 2),
  tooOldForgetsIds: notShown(
    "the id of a part that is too old to tell lives from now",
    "no run of 1,500 has shown it yet",
  ),
  holdForgetsIds: shown("what is on hold is known", 13),
  holdIgnoresKnownKeyed: notShown(
    "a known keyed copy in a message on hold is added as by an append",
    "no run of 1,500 has shown it yet",
  ),
  resendInTwoSteps: notShown(
    "sending again adds the block and deletes the hold in one transaction",
    "no run of 1,500 has shown it yet",
  ),
  resendByNoteAlone: notShown(
    "sending again also goes to jobs that start in the past",
    "no run of 1,500 has shown it yet",
  ),
  resendWithoutOff: shown("a function that was off stays off when its message is sent again", 13),
  resendToForgotten: notShown(
    "a forgotten job gets no entry when a message is sent again",
    "no run of 1,500 has shown it yet",
  ),
  forgottenNotRead: shown("an entry of a job that the copy lacks counts as read", 55),

  // Configuration.
  noJoinAtStart: shown("a shard joins when it starts", 11),
  noJoinAgain: notShown(
    "a shard joins with an append or a drive once five minutes have passed",
    "no run of 1,500 has shown it yet",
  ),
  noJoinOnNewer: notShown("a shard joins when an append names a newer state", "no run of 1,500 has shown it yet"),
  joinNotNoted: shown("a join adds the shard to the list", 11),
  takesOlderConfig: shown("an older snapshot is not taken", 6),
  takesForeignMark: notShown("a snapshot under another mark is not taken", "no run of 1,500 has shown it yet"),
  versionWithoutMark: shown("versions are compared together with the mark", 55),
  restoredPlaneKeepsMark: shown("a restored control plane gives a new mark", 55),
  answersBeforeShards: shown("a change is answered when all shards have it", 1),
  answersWithOneShard: shown("a change is answered when all shards have it, not one", 11),
  noSkewWait: notShown("a change of windows is answered half a second later", "no run of 1,500 has shown it yet"),
  switchKeepsVersions: notShown(
    "a change of any function's logging is a new version of each job",
    "no run of 1,500 has shown it yet",
  ),

  // Entries, prepared or open.
  entriesByNow: shown("a job is offered a part by the part's time of intake", 1),
  offByNow: shown("a function's logging was off by the part's time of intake", 2),
  preparedOfOldVersion: shown("a prepared entry of another version is dropped", 3),
  preparedWithKnown: shown("a prepared entry is used only if all parts of the append are fresh", 1),
  preparedForOtherParts: notShown(
    "the shard checks that the group has exactly the parts that the job is offered",
    "no run of 1,500 has shown it yet",
  ),
  groupsByRulesAlone: notShown(
    "the handler prepares together only for jobs that are offered the same parts",
    "no run of 1,500 has shown it yet",
  ),
  groupsUnchecked: shown("handler or shard checks that the group has exactly those parts", 14),
  preparesNewFormats: notShown(
    "a handler prepares only formats that the release before can read",
    "no run of 1,500 has shown it yet",
  ),
  readersFormat: notShown("a group is cut under its own format", "no run of 1,500 has shown it yet"),
  readerMakesAll: shown("a reader does not make what was prepared", 3),
  readersKeepTheirJob: shown("a page carries the job if the reader's version is older", 1),
  mixesFormats: notShown("a reader cuts where the format changes", "no run of 1,500 has shown it yet"),
  mixesDays: shown("an object has records of one day", 1),

  // Positions, cursors, readers.
  smallNumbers: notShown("positions are times", "no run of 1,500 has shown it yet"),
  noJumpAfterRestore: notShown("a restored shard's positions grow by a year", "no run of 1,500 has shown it yet"),
  jumpsByADay: notShown("they grow by a year, not by a day", "no run of 1,500 has shown it yet"),
  smallNumbersNoJump: notShown(
    "positions are times, and grow by a year after a restore",
    "no run of 1,500 has shown it yet",
  ),
  dropsWhenOneHasRead: shown("a block is dropped when all jobs of its entries have passed it", 6),
  commitsWithoutCompare: notShown(
    "a commit compares the cursor with that of its read",
    "no run of 1,500 has shown it yet",
  ),
  pullsAtOnce: notShown("one pull at a time for each reader", "no run of 1,500 has shown it yet"),
  pullsAtOnceNoCompare: shown("one pull at a time, and a commit compares the cursor", 3),
  cursorAfterwards: shown("the cursor moves in the transaction of the commit", 1),
  newReaderFromZero: shown("a new reader takes the shard's cursor", 6),
  rangeStartsAnew: notShown(
    "a new segment takes the range's position from the shard",
    "no run of 1,500 has shown it yet",
  ),
  rangeCursorInShardAlone: shown("a reader answers where its range stands", 1),
  settlesTwice: shown("an upload is counted once", 18),
  noUnmade: shown("an entry that cannot be made is stored as it is", 1),
  retryDrops: shown("an entry that is made at last is shipped", 1),

  // Alarms.
  noAlarm: shown("an append sets the shard's alarm", 1),
  noAlarmAfterDrive: shown("a drive sets the shard's alarm", 1),
  noReaderAlarm: shown("a reader sets its alarm", 1),
  noAlarmAfterUpload: shown("an upload sets the reader's alarm", 2),
  noAlarmAtStart: notShown("an object sets its alarm when it starts", "no run of 1,500 has shown it yet"),
  olderVersionNotDue: notShown("a job whose reader has an older version is due", "no run of 1,500 has shown it yet"),

  // Intake, queue, handler.
  neverFull: notShown("a full shard takes no appends", "no run of 1,500 has shown it yet"),
  acksFirst: shown("a message is acknowledged after its append", 2),
  asksForKeyed: shown("a handler asks only for parts without a key", 80),
  packsAcrossShards: shown("all parts of a message belong to one shard", 4),
  cutsBySettings: shown("cuts of a keyed request follow a rule that never changes", 1),
  noHoldAfterTenDays: shown("messages older than ten days are put on hold", 11),
  noAnew: notShown("after many attempts a message is sent anew", "no run of 1,500 has shown it yet"),
  deadNotHeld: notShown("a dead letter is put on hold", "no run of 1,500 has shown it yet"),
  busySpendsAttempts: notShown("a handler waits for a shard that is busy", "no run of 1,500 has shown it yet"),
  keyShardsUnchecked: notShown(
    "an isolate asks the control plane whether its KEY_SHARDS is right",
    "no run of 1,500 has shown it yet",
  ),
  textKeyShardsByFirst: notShown(
    "KEY_SHARDS is set when the control plane comes into being, not by the first request",
    "no run of 1,500 has shown it yet",
  ),
  unreadableCountedAgain: notShown(
    "an unreadable message is counted once, by the hash of its bytes",
    "no run of 1,500 has shown it yet",
  ),
  unreadableDroppedFirst: shown("an unreadable message is deleted after its parts are appended", 24),
  unreadableToShardZero: shown("parts of an unreadable message are appended to their own shard", 18),
  packsWithoutBound: shown("a message has no more than an append takes", 68),
  groupsWithoutBound: notShown("a group has no more than an append takes", "no run of 1,500 has shown it yet"),
  pageWithoutOneBlock: shown("a page has one block, however large", 15),

  // Kept records.
  rangeWithoutEnd: notShown("a range ends where the log was when it was noted", "no run of 1,500 has shown it yet"),
  rangesDoNotPin: shown("blocks of a range under way are kept", 18),
  rangeTakesWholeMessage: notShown(
    "a range takes parts that were new with the block",
    "no run of 1,500 has shown it yet",
  ),
  rangeWithoutOff: shown("a function that was off stays off in a range", 25),
  backfillTakesRepeats: notShown("a range leaves out blocks of further copies", "no run of 1,500 has shown it yet"),

  // Deletion.
  discardByReaderAlone: notShown(
    "the shard moves the cursor of a job that is deleted with discard",
    "no run of 1,500 has shown it yet",
  ),
  forgetsAtOnce: shown("a job is forgotten when nothing of it is left", 47),
  erasesBeforeConfirmed: notShown(
    "readers of a forgotten job are erased when no shard has the job",
    "no run of 1,500 has shown it yet",
  ),

  // Sums and `last_complete`.
  sumsShardFirst: notShown("sums ask the readers first", "no run of 1,500 has shown it yet"),
  completeReadersFirst: notShown("`last_complete` asks the shards first", "no run of 1,500 has shown it yet"),
  completeWithoutHold: notShown("what is on hold keeps `last_complete` back", "no run of 1,500 has shown it yet"),
  completeWithoutUnfinished: notShown("what is unfinished keeps it back", "no run of 1,500 has shown it yet"),
  completeWithoutUnmade: notShown("what is unmade keeps it back", "no run of 1,500 has shown it yet"),
  noInFlight: notShown("what is between intake and queue keeps it back", "no run of 1,500 has shown it yet"),
  completeGoesBack: notShown("the control plane keeps the greatest answer", "no run of 1,500 has shown it yet"),
  completeWithoutUnreadable: notShown(
    "a message on hold that is unreadable in its head keeps it back",
    "no run of 1,500 has shown it yet",
  ),

  // Earlier wordings of a rule that had a hole.
  textSegmentFromZero: shown("a new segment starts at the cursor where the one before sealed", 6),
  textReadNotesNoVersion: notShown("a read tells which version the reader has", "no run of 1,500 has shown it yet"),
  textSealedNotDriven: shown("sealed segments hear of a changed job", 37),
  textWithinBlock: shown("the cursor stands between blocks", 13),
  textOneTrying: shown("tries are noted for each entry", 54),
  textDiscardCounts: shown("what is discarded is appended less counted", 58),
  textRangeNotApart: shown("what a range brought is counted apart", 1),
  textAgainForSince: shown("a further copy does not go to a job whose range finds the first", 49),
  textKeyedFifteenDays: notShown("a keyed id lives five days longer than another", "no run of 1,500 has shown it yet"),
  textKeyedNeverTooOld: notShown("a keyed part can be too old to tell", "no run of 1,500 has shown it yet"),
  textSweepTrustsClock: notShown(
    "a sweep goes by the newest intake known as well as by the clock",
    "no run of 1,500 has shown it yet",
  ),
  textForgetsByDays: shown("a job is forgotten once its `last_complete` is later than its end", 47),
  textCompleteWithoutRange: notShown(
    "the `since` of a range under way keeps `last_complete` back",
    "no run of 1,500 has shown it yet",
  ),
  textNewerWithoutAlarm: shown("what needs a newer release is tried by the alarm", 33),
  textReadDoesNotDrop: notShown("a read that moves the cursor drops blocks", "no run of 1,500 has shown it yet"),
  textIdsAgain: shown("a restored control plane's next job id grows", 11),
  textAnewUnnoted: notShown(
    "a message is sent anew once the shard has it as unfinished",
    "no run of 1,500 has shown it yet",
  ),
  textRestoredGoesOn: notShown("a restored shard waits for the control plane", "no run of 1,500 has shown it yet"),
  textDeadUnnoted: notShown(
    "the control plane is told of messages whose shard does not answer late attempts",
    "no run of 1,500 has shown it yet",
  ),
  deadUnreadIsYoung: notShown(
    "an unreadable dead letter may be 14 days older than it seems",
    "no run of 1,500 has shown it yet",
  ),
  textNewReaderStores: notShown(
    "a new reader stores nothing until a page has brought its job",
    "no run of 1,500 has shown it yet",
  ),
  textCompleteUnknownJob: notShown(
    "a shard that lacks the job keeps `last_complete` back",
    "no run of 1,500 has shown it yet",
  ),
} satisfies Record<string, Shown | NotShown>;

export type Mutant = keyof typeof MUTANTS;
