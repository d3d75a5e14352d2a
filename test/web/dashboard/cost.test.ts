import { expect, it, vi } from "vitest";
import { dollars, monthInWords } from "../../../src/base/words.ts";
import { JobReader } from "../../../src/index.ts";
import { USAGE_PATIENCE } from "../../../src/web/api/usage.ts";
import type { UsageView } from "../../../src/web/dashboard/views/account.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { textOf, Visitor } from "./support.ts";

async function cost(): Promise<string> {
  const page = await (await Visitor.signedIn()).get("/cost");
  expect(page.status).toBe(200);
  return textOf(page.html);
}

it("says that nothing was counted yet", async () => {
  setClock(NOON);
  expect(await cost()).toContain("Nothing counted yet");
});

it("says what the API says, each number with how it is known", async () => {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name);
  await deliver(pack(new Oracle({ at: NOON }).mint(1_200), clock.nowMs()));
  await settle(job, clock);
  const { result } = (await api<UsageView>("GET", "/logship/usage")).body;
  const text = await cost();
  expect(text).toContain("Cost in November 2100 so far");
  const { rows_written, queue_operations } = result.operations;
  expect(text).toContain(`Rows written ${rows_written.amount} derived $1.00 50,000,000 `);
  expect(text).toContain(`Queue operations ${queue_operations.amount} counted $0.40 1,000,000 `);
  expect(text).toContain(`logship ${dollars(result.list_price_usd)}`);
  expect(text).toContain("Records delivered 1,200");
  for (const assumption of result.assumptions) expect(text).toContain(assumption);
});

it("says which numbers are missing while a job does not answer", async () => {
  const clock = setClock(NOON);
  await createJob(freshBucket().name);
  await deliver(pack(new Oracle({ at: NOON }).mint(2), clock.nowMs()));
  vi.spyOn(JobReader.prototype, "health").mockImplementation(() => new Promise(() => {}) as never);
  const before = USAGE_PATIENCE.ms;
  USAGE_PATIENCE.ms = 50;
  try {
    expect(await cost()).toContain("Uploads of 1 job are missing: no answer");
  } finally {
    USAGE_PATIENCE.ms = before;
  }
});

it.each([
  [0, "$0.00"],
  [0.000_001, "< $0.0001"],
  [0.004_2, "$0.0042"],
  [1_234.5, "$1,234.50"],
])("%s dollars are %s", (value, text) => {
  expect(dollars(value)).toBe(text);
});

it("a month is named in UTC", () => {
  expect([monthInWords("2026-11"), monthInWords("2027-01")]).toEqual(["November 2026", "January 2027"]);
});
