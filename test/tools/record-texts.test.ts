/** The browser evaluates the source of this function: it must not use anything from outside. */
import { expect, it } from "vitest";
import { recordTexts } from "../../src/dashboard/parts/record-summary.ts";

it("the texts of a record are the same in a browser, which has their source alone", () => {
  const there: ReturnType<typeof recordTexts> = new Function(`return (${recordTexts})()`)();
  const here = recordTexts();
  for (const record of [
    null,
    { EventTimestampMs: 1, Outcome: "ok", ScriptName: "a", EventType: "queue", Event: { Queue: "q", BatchSize: 2 } },
    { EventType: "fetch", Event: { Request: { Method: "GET", URL: "/" }, Response: { Status: 200 } } },
    ...["scheduled", "email", "worker_rpc", "hibernatable_web_socket", "alarm"].map((EventType) => ({ EventType })),
    { Exceptions: [{ name: "Error", message: "x" }], Logs: [{ Level: "warn", Message: ["a", 1] }] },
    { Logs: [{ Level: "log", Message: "x".repeat(1_000) }] },
  ])
    expect(there.summaryOf(record)).toEqual(here.summaryOf(record));
  expect(there.visible("a\u001b\u007f\u202e")).toBe(here.visible("a\u001b\u007f\u202e"));
});
