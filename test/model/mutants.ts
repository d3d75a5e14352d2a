import type { Force } from "./world.ts";

/** Shown to matter: a run without the rule fails with this seed. */
export interface Shown {
  rule: string;
  seed: number;
  /** What such a run does, to be found soon. */
  force?: Force[];
}
/** No run has shown that it matters: what would have to happen, and what else holds it. */
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
  keyedByIdAlone: shown("a further copy of a keyed part goes to jobs that were not offered one before", 46),
  noTooOld: shown("a part older than the last sweep is not new", 13),
  tooOldForgetsIds: notShown(
    "the id of a part that is too old to tell lives from now",
    "two copies of a part have to come once its minute is swept, later than fifteen days: the queue alone keeps none that long",
  ),
  holdForgetsIds: shown("what is on hold is known", 1),
  holdIgnoresKnownKeyed: notShown(
    "a known keyed copy in a message on hold is added as by an append",
    "the message of a repeat has to become a dead letter, and a job to have been enabled between it and the first copy",
  ),
  resendInTwoSteps: shown("sending again adds the block and deletes the hold in one transaction", 84),
  resendByNoteAlone: shown("sending again also goes to jobs that start in the past", 326),
  resendWithoutOff: shown("a function that was off stays off when its message is sent again", 82),
  resendToForgotten: notShown(
    "a forgotten job gets no entry when a message is sent again",
    "a job is forgotten once nothing of it is on hold; a message put on hold later notes no job that the copy lacks",
  ),
  forgottenNotRead: shown("an entry of a job that the copy lacks counts as read", 24),

  // Configuration.
  noJoinAtStart: shown("a shard joins when it starts", 19),
  joinNotNoted: shown("a join adds the shard to the list", 13),
  takesOlderConfig: shown("an older snapshot is not taken", 1),
  takesForeignMark: notShown(
    "a snapshot under another mark is not taken",
    "a call of a lost control plane has to come after the shard has joined the one that is; the next join mends it",
  ),
  versionWithoutMark: shown("versions are compared together with the mark", 84, "past", "restores"),
  restoredPlaneKeepsMark: shown("a restored control plane gives a new mark", 84, "past", "restores"),
  answersBeforeShards: shown("a change is answered when all shards have it", 1),
  answersWithOneShard: shown("a change is answered when all shards have it, not one", 28),
  noSkewWait: shown("a change of windows is answered half a second later", 4, "full", "keyed"),
  switchKeepsVersions: shown("a change of any function's logging is a new version of each job", 48),

  // Entries, prepared or open.
  entriesByNow: shown("a job is offered a part by the part's time of intake", 1),
  offByNow: shown("a function's logging was off by the part's time of intake", 7),
  preparedOfOldVersion: shown("a prepared entry of another version is dropped", 48),
  preparedWithKnown: shown("a prepared entry is used only if all parts of the append are fresh", 6),
  groupsUnchecked: shown("handler or shard checks that the group has exactly those parts", 25),
  readersFormat: shown("a group is cut under its own format", 7),
  readerMakesAll: shown("a reader does not make what was prepared", 3),
  readersKeepTheirJob: shown("a page carries the job if the reader's version is older", 1),
  mixesFormats: shown("a reader cuts where the format changes", 22, "leaps"),
  mixesDays: shown("an object has records of one day", 1),

  // Positions, cursors, readers.
  smallNumbers: notShown(
    "positions are times",
    "the leap after a restore (noJumpAfterRestore) is enough; smallNumbersNoJump leaves out both",
  ),
  noJumpAfterRestore: notShown(
    "a restored shard's positions grow by a year",
    "positions that are times (smallNumbers) are enough while the clock goes on; smallNumbersNoJump leaves out both",
  ),
  jumpsByADay: notShown(
    "they grow by a year, not by a day",
    "the clock has to have leapt by more than a day before the restore, and back",
  ),
  smallNumbersNoJump: notShown(
    "positions are times, and grow by a year after a restore",
    "the position of a new block has to equal one that a reader has passed, of a record that the restore did not lose",
  ),
  dropsWhenOneHasRead: shown("a block is dropped when all jobs of its entries have passed it", 2),
  pullsAtOnce: notShown(
    "one pull at a time for each reader",
    "the comparison is enough, but for a seal between two pulls; pullsAtOnceNoCompare leaves out both",
  ),
  pullsAtOnceNoCompare: shown("one pull at a time, and a commit compares the cursor", 3),
  cursorAfterwards: shown("the cursor moves in the transaction of the commit", 1),
  newReaderFromZero: shown("a new reader takes the shard's cursor", 6),
  settlesTwice: shown("an upload is counted once", 6),
  noUnmade: shown("an entry that cannot be made is stored as it is", 1),
  retryDrops: shown("an entry that is made at last is shipped", 7),

  // Alarms.
  noAlarm: shown("an append sets the shard's alarm", 1),
  noAlarmAfterDrive: shown("a drive sets the shard's alarm", 1),
  noReaderAlarm: shown("a reader sets its alarm", 1),
  noAlarmAfterUpload: shown("an upload sets the reader's alarm", 2),
  noAlarmAtStart: notShown(
    "an object sets its alarm when it starts",
    "each transaction that adds something sets the alarm: only a restored object starts without one, and the cron starts that",
  ),
  olderVersionNotDue: notShown(
    "a job whose reader has an older version is due",
    "a job has to change while nothing of it is unread, and its objects wait for a store that it left; textSealedNotDriven shows it for sealed segments",
  ),

  // Intake, queue, handler.
  acksFirst: shown("a message is acknowledged after its append", 2),
  asksForKeyed: shown("a handler asks only for parts without a key", 46),
  packsAcrossShards: shown("all parts of a message belong to one shard", 4),
  cutsBySettings: shown("cuts of a keyed request follow a rule that never changes", 3),
  noHoldAfterTenDays: shown("messages older than ten days are put on hold", 50),
  keyShardsUnchecked: shown("an isolate asks the control plane whether its KEY_SHARDS is right", 2, "keyShards"),
  textKeyShardsByFirst: notShown(
    "KEY_SHARDS is set when the control plane comes into being, not by the first request",
    "isolates with two settings have to send the first two requests with one key, side by side",
  ),
  unreadableCountedAgain: shown("an unreadable message is counted once, by the hash of its bytes", 15, "heads"),
  unreadableDroppedFirst: shown("an unreadable message is deleted after its parts are appended", 27, "heads"),
  unreadableToShardZero: shown("parts of an unreadable message are appended to their own shard", 22),
  packsWithoutBound: shown("a message has no more than an append takes", 10, "heads"),
  pageWithoutOneBlock: shown("a page has one block, however large", 31),

  // Kept records.
  pastWithoutEnd: shown("a past ends where the log was when it was noted", 10, "leaps"),
  pastDoesNotPin: shown("blocks of a past are kept until they are read", 74),
  pastTakesRepeats: shown("a past leaves out blocks of further copies", 8, "rollback"),
  pastTakesWholeMessage: shown("a past takes parts that were new with the block", 83, "past"),
  pastWithoutOff: shown("a function that was off stays off in a past", 2),
  pastNotedAgain: shown("a past is noted once, with the first configuration that has the job", 6),
  pastNotCounted: shown("a past is appended to the job when it is noted", 6),
  pastByWindows: shown(
    "a past goes by the windows that the job had when it was noted",
    55,
    "past",
    "forget",
    "keyed",
    "busy",
  ),
  againByWindows: shown("a further copy goes by the windows of the past, not those of now", 162, "busy"),
  textPastOpen: shown("a past is closed at the newest intake that was known", 15, "past", "keyed"),
  pastInMemory: shown("a past is stored", 22),
  completeWithoutPast: shown("what is unread of a past keeps `last_complete` back", 31, "past", "keyed"),
  rerunGetsCopies: shown("a further copy goes to no rerun", 19, "past"),
  rerunGetsHolds: shown("what is on hold goes to no rerun", 72, "past"),
  dropsUnreadByBytes: shown("what is unread is kept, however much there is", 2),
  keptSinceByTimeAlone: shown("what is dropped for room is no longer said to be there", 14, "past"),
  givesUpUncounted: shown("what is given up of a past is taken off what was appended", 70, "past"),
  givesUpUnsaid: shown("a shard says what it has given up", 70, "past"),
  keptSinceByDropsAlone: shown("what was never kept is not said to be there", 8, "past", "keeps"),
  textKeptSinceAppended: shown(
    "what is dropped is told by its intake, as `since` is, not by when it was appended",
    5,
    "past",
    "keeps",
  ),
  textPastForgotten: shown("a past is noted as long as its job is there, for further copies", 6),
  textReadsUnknownJob: shown("a read of a job that the copy lacks moves no cursor", 25836, "past", "restores"),
  givesUpAtCursor: shown(
    "a page behind the cursor is not given up: its reader may have it, and commit it",
    490,
    "past",
  ),

  // Deletion.
  discardByReaderAlone: notShown(
    "the shard moves the cursor of a job that is deleted with discard",
    "the reader discards as well; a reader that never answers again is no run that ends",
  ),
  forgetsAtOnce: shown("a job is forgotten when nothing of it is left", 47),
  erasesBeforeConfirmed: notShown(
    "readers of a forgotten job are erased when no shard has the job",
    "a shard that has not heard has to have a late block for the job, later than the fifteen days after which it is forgotten",
  ),

  // Sums and `last_complete`.
  sumsShardFirst: shown("sums ask the readers first", 73, "past", "claims"),
  completeReadersFirst: notShown(
    "`last_complete` asks the shards first",
    "a record has to move from shard to reader between the two questions, and nothing older to be left in either",
  ),
  completeWithoutHold: notShown(
    "what is on hold keeps `last_complete` back",
    "all older records have to be delivered while one is on hold, and `last_complete` to be asked for before it is sent again",
  ),
  completeWithoutUnfinished: notShown(
    "what is unfinished keeps it back",
    "the queue's own time covers a message that waits; this is for one that another handler has, for longer than a minute",
  ),
  completeWithoutUnmade: notShown(
    "what is unmade keeps it back",
    "all older records have to be delivered while one is unmade, and `last_complete` to be asked for then",
  ),
  noInFlight: notShown(
    "what is between intake and queue keeps it back",
    "isolate and handler have to be slower than the time that is asked for, within the minute that the rule takes off",
  ),
  completeGoesBack: shown("the control plane keeps the greatest answer", 18, "long"),
  completeWithoutUnreadable: notShown(
    "a message on hold that is unreadable in its head keeps it back",
    "such a message has to be the oldest that waits, and its records known to the oracle: only a newer head is",
  ),

  // Earlier wordings of a rule that had a hole.
  textSegmentFromZero: shown("a new segment starts at the cursor where the one before sealed", 6),
  textReadNotesNoVersion: notShown(
    "a read tells which version the reader has",
    "the answer of the pull tells it as well: both have to be lost, and the job to have nothing more to read",
  ),
  textSealedNotDriven: shown("sealed segments hear of a changed job", 30, "segments", "stores"),
  textOneTrying: shown("tries are noted for each entry", 57),
  textDiscardCounts: shown("what is discarded is appended less counted", 2),
  textAgainForSince: shown("a further copy does not go to a job whose past has the first", 6),
  textKeyedFifteenDays: notShown(
    "a keyed id lives five days longer than another",
    "a repeat has to come five days after its first copy, and its message to take fifteen more",
  ),
  textKeyedNeverTooOld: notShown(
    "a keyed part can be too old to tell",
    "a keyed part has to come when its id is swept: later than twenty days after its intake",
  ),
  textSweepTrustsClock: notShown(
    "a sweep goes by the newest intake known as well as by the clock",
    "a shard's clock has to leap weeks ahead, sweep, and a copy to come of what was known",
  ),
  textForgetsByDays: notShown(
    "a job is forgotten once its `last_complete` is later than its end",
    "a message of a deleted job has to wait longer than the days after which the job is forgotten; forgetsAtOnce shows it without the days",
  ),
  textNewerWithoutAlarm: shown("what needs a newer release is tried by the alarm", 33),
  textIdsAgain: shown("a restored control plane's next job id grows", 5),
  textAnewUnnoted: notShown(
    "a message is sent anew once the shard has it as unfinished",
    "a claim has to be made between sending anew and the next delivery, of a message that is the oldest",
  ),
  textRestoredGoesOn: shown("a restored shard waits for the control plane", 33, "past", "restores"),
  textDeadUnnoted: notShown(
    "the control plane is told of messages whose shard does not answer late attempts",
    "a shard has to be away from the tenth attempt to the dead letter, and a claim to be made meanwhile",
  ),
  deadUnreadIsYoung: notShown(
    "an unreadable dead letter may be 14 days older than it seems",
    "a dead letter that is unreadable in its head has to be the oldest that waits, and a claim to be made before it is sent again",
  ),
  textNewReaderStores: notShown(
    "a new reader stores nothing until a page has brought its job",
    "a pull of a forgotten job has to come after its reader was erased: then the reader holds a cursor and nothing else",
  ),
  textCompleteUnknownJob: notShown(
    "a shard that lacks the job keeps `last_complete` back",
    "a shard that has not heard of the job has to have records for it, and a claim to be made before the change is answered",
  ),
} satisfies Record<string, Shown | NotShown>;

export type Mutant = keyof typeof MUTANTS;
