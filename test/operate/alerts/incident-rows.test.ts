/** What the row of an incident says, in an object that ends between any two checks. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { Tracked } from "../../../src/operate/alerts/incidents.ts";
import { rowsWritten } from "../../support/runtime/rows-written.ts";
import { theWatch } from "./receiver.ts";
import { begin, checkAt, of, watchEach } from "./watching.ts";

watchEach();

const row = () =>
  runInDurableObject(theWatch(), (_watch, { storage }) => {
    const { state } = storage.sql.exec<{ state: string }>("SELECT state FROM incident").one();
    return (JSON.parse(state) as Tracked).finding.summary;
  });

/** Crons, five minutes apart, each in a new instance. @returns the minutes that wrote a row. */
async function crons(summary: (n: number) => string): Promise<number[]> {
  const bill = await runInDurableObject(theWatch(), (_watch, { storage }) =>
    rowsWritten(storage, /\bincident(?:_event)?\b/),
  );
  const written: number[] = [];
  for (let n = 1; n <= 14; n++) {
    await evictDurableObject(theWatch());
    await checkAt(5 * n, [of(1, { summary: summary(n) })]);
    if ("INSERT incident" in bill()) written.push(5 * n);
  }
  return written;
}

it("is written every half hour while its text changes with each check", async () => {
  await begin(1);
  expect(await crons((n) => `${n} records wait.`)).toEqual([35, 65]);
  expect((await theWatch().snapshot())?.findings).toMatchObject([{ summary: "14 records wait." }]);
});

it("is right in the end where the text changes once, and is written no more", async () => {
  await begin(1);
  expect(await crons(() => "It waits.")).toEqual([35]);
  expect(await row()).toBe("It waits.");
});
