import { describe, expect, it } from "vitest";
import {
  type AccountCounts,
  accountLedgerFaults,
  type JobCounts,
  jobLedgerFaults,
  objectListFaults,
} from "../support/ledger-audit.ts";

const JOB: JobCounts = {
  received: 21,
  filtered: 1,
  sampled_out: 2,
  delivered: 10,
  pending: 3,
  set_aside: 4,
  discarded: 1,
};
const LEFT_OUT = { filtered: 1, sampled_out: 2, pending: 3, set_aside: 4, discarded: 1 };
const ACCOUNT: AccountCounts = { processed: 12, routed: 4, not_enabled: 3, not_routed: 2, set_aside: 1, discarded: 2 };

describe("a job's ledger", () => {
  it("is right when everything received is somewhere, and where the ledger says", () => {
    expect(jobLedgerFaults(JOB, { records: 10 }, LEFT_OUT)).toEqual([]);
  });

  it.for(Object.keys(JOB) as (keyof JobCounts)[])("is wrong when %s is one too many or one too few", (name) => {
    for (const off of [-1, 1]) {
      const counts = { ...JOB, [name]: JOB[name] + off };
      expect(jobLedgerFaults(counts, { records: 10 }, LEFT_OUT)).not.toEqual([]);
    }
  });

  it.for([
    ["fewer records are in the bucket than it says", JOB, 9, LEFT_OUT, "delivered is 10, but the objects hold 9"],
    ["more are", JOB, 11, LEFT_OUT, "delivered is 10, but the objects hold 11"],
    [
      "two counts are wrong and the sum is right",
      { ...JOB, filtered: 2, discarded: 0 },
      10,
      LEFT_OUT,
      "filtered is 2, not 1",
    ],
    [
      "anything is left out that nobody expects",
      JOB,
      10,
      { ...LEFT_OUT, discarded: undefined },
      "discarded is 1, not 0",
    ],
    [
      "a count is out of bounds",
      JOB,
      10,
      { ...LEFT_OUT, sampled_out: { atLeast: 3, atMost: 9 } },
      "sampled_out is 2, not from 3 to 9",
    ],
  ] as const)("is wrong when %s", ([_when, counts, records, { discarded, ...leftOut }, fault]) => {
    const expected = discarded === undefined ? leftOut : { ...leftOut, discarded };
    expect(jobLedgerFaults(counts, { records }, expected)).toContain(fault);
  });
});

describe("the account's ledger", () => {
  it("is right when it adds up to what was sent", () => {
    expect(accountLedgerFaults(ACCOUNT, { processed: 12, set_aside: 1, routed: { atLeast: 0, atMost: 4 } })).toEqual(
      [],
    );
  });

  it.for(Object.keys(ACCOUNT) as (keyof AccountCounts)[])("is wrong when %s alone is off", (name) => {
    expect(accountLedgerFaults({ ...ACCOUNT, [name]: ACCOUNT[name] + 1 }, {})).toHaveLength(1);
  });

  it("is wrong when it adds up to something else than was sent", () => {
    expect(accountLedgerFaults(ACCOUNT, { processed: 11 })).toEqual(["processed is 12, not 11"]);
  });
});

describe("the list of objects", () => {
  const object = (key: string, bytes = 3) => ({ key, bytes: new Uint8Array(bytes) });
  const listed = (key: string, state = "delivered", bytes = 3) => ({ key, state, bytes, records: 1 });

  it("is right when it names what is there, probes aside", () => {
    const there = [object("a.log.gz"), object("test.txt.gz")];
    expect(objectListFaults([listed("a.log.gz"), listed("b.log.gz", "waiting")], there)).toEqual([]);
  });

  it.for([
    ["one is not there", [listed("a.log.gz")], [], "a.log.gz counts as delivered, but is not there"],
    [
      "one is shorter",
      [listed("a.log.gz", "delivered", 4)],
      [object("a.log.gz")],
      "a.log.gz has 3 bytes, but the list says 4",
    ],
    ["one is there that nobody lists", [], [object("a.log.gz")], "a.log.gz is there, but does not count as delivered"],
    [
      "one is there that still waits",
      [listed("a.log.gz", "waiting")],
      [object("a.log.gz")],
      "a.log.gz is there, but does not count as delivered",
    ],
  ] as const)("is wrong when %s", ([_when, list, there, fault]) => {
    expect(objectListFaults(list, there)).toEqual([fault]);
  });
});
