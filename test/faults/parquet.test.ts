/** A job that writes Parquet: its log dies between cut and upload, and it shares messages. */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect } from "vitest";
import type { Minted } from "../support/oracle.ts";
import { metadataOf } from "../support/parquet-files.ts";
import { rule } from "../support/s3-script.ts";
import { row } from "./row.ts";
import { arrive, controlOf, pass } from "./stores.ts";

const DAY_MS = 86_400_000;
const PUTS = { method: "PUT", keyIncludes: ".parquet" } as const;
const PARQUET = { output_options: { output_type: "parquet" } };

/** The same events with three log lines each, of which one is an object. */
function talking(events: readonly Minted[]): Minted[] {
  return events.map((each) => {
    const messages = [[each.id], ['{"user":7}'], Array<string>(150).fill(each.id)];
    const Logs = messages.map((Message) => ({ Level: "log", Message, TimestampMs: each.at }));
    return { ...each, event: { ...(each.event as object), Logs }, record: { ...each.record, Logs } };
  });
}

type ShippedRow = Record<"Level" | "Message" | "RowType" | "ExceptionName", string> & {
  Fields: object;
  TimestampMs: number;
  EventTimestampMs: number;
};

/** The invocations that rows are of: those of one stand together, and no two have the same time. */
function invocationsOf(raw: Uint8Array): unknown[] {
  const rows = new TextDecoder().decode(raw).trimEnd().split("\n");
  const invocations: { EventTimestampMs: number; Exceptions: []; Logs: object[] }[] = [];
  for (const line of rows) {
    const { Level, Message, RowType, ExceptionName, Fields, TimestampMs, ...shared } = JSON.parse(line) as ShippedRow;
    if (RowType !== "log" || ExceptionName !== "") throw new Error(`no row of a log line: ${line}`);
    const text = Message === "" ? JSON.stringify(Fields) : Message;
    const log = { Level, Message: text.split(" "), TimestampMs };
    const last = invocations.at(-1);
    if (last?.EventTimestampMs === shared.EventTimestampMs) last.Logs.push(log);
    else invocations.push({ ...shared, Exceptions: [], Logs: [log] });
  }
  return invocations;
}

describe("an object of Parquet", () => {
  for (const [what, action] of [
    ["the store takes nothing", { do: "answer", status: 503 }],
    ["every answer of the store is lost", { do: "reset", when: "after" }],
  ] as const)
    row(`the log dies with what waits raw and what is cut, of two days, while ${what}`, async (world) => {
      const job = await world.createJob({ fields: PARQUET });
      await world.createJob();
      const control = controlOf(job);
      await control.script([rule(action, PUTS)]);
      const at = world.clock.nowMs();
      await arrive(world, [...world.mint(40, { padding: 3_000 }), ...world.mint(5, { at: at - DAY_MS })]);
      await arrive(world, world.mint(4));
      await pass(world, 60_000);
      await arrive(world, world.mint(3, { at: at - DAY_MS }));
      await abortAllDurableObjects();
      await control.script([]);
      await world.settle();
      const objects = (await control.objects()).filter(({ key }) => key.endsWith(".parquet"));
      expect(objects.length).toBeGreaterThan(2);
    });

  row("is as it was cut, and NDJSON follows it, where the output changes while the store fails", async (world) => {
    const job = await world.createJob({ fields: PARQUET });
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 503 }, PUTS)]);
    await arrive(world, world.mint(3));
    await pass(world, 60_000);
    await world.jobs.change(job, { output_options: null });
    await arrive(world, world.mint(3));
    await control.script([]);
    await world.settle();
    const keys = (await control.objects()).map(({ key }) => key).filter((key) => !key.includes("test"));
    expect(keys.map((key) => key.slice(key.indexOf(".")))).toEqual(expect.arrayContaining([".parquet", ".log.gz"]));
  });

  for (const [what, action] of [
    ["the store takes nothing", { do: "answer", status: 503 }],
    ["every answer of the store is lost", { do: "reset", when: "after" }],
  ] as const)
    row(`of rows: the log dies with what waits raw, what is a group, and what is cut, while ${what}`, async (world) => {
      const fields = { output_options: { ...PARQUET.output_options, rows: "log" } };
      const job = await world.createJob({ fields, audit: { parse: invocationsOf } });
      const control = controlOf(job);
      await control.script([rule(action, PUTS)]);
      await arrive(world, talking(world.mint(30)));
      await pass(world, 60_000);
      // Rows of more than 1.8 MB in one append are a group at once.
      await arrive(world, talking(world.mint(400)));
      await arrive(world, talking(world.mint(5, { at: world.clock.nowMs() - DAY_MS })));
      await abortAllDurableObjects();
      await control.script([]);
      await world.settle();
      const objects = (await control.contents()).filter(({ key }) => key.endsWith(".parquet"));
      expect(objects.length).toBeGreaterThan(2);
      const groups = objects.flatMap(({ bytes }) =>
        metadataOf(bytes).row_groups.map(({ num_rows }) => Number(num_rows)),
      );
      expect(groups.toSorted((a, b) => a - b)).toEqual([15, 90, 1_200]);
    });
});
