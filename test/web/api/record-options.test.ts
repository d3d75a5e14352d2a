/**
 * `truncate`, `rows` and `escape_formulas` of `output_options`: from the API to the objects, with
 * what is counted.
 */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { withDefaults } from "../../../src/ship/job/output-rules.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import type { PreviewResult } from "../../../src/web/api/preview.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import type { Minted } from "../../support/oracle.ts";
import { linesIn } from "../../support/parquet-files.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";
import { call, errorsOf, expectRefused } from "./harness.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

const log = (...Message: string[]) => ({ Level: "log", Message, TimestampMs: NOON });
const record = (fields: object): object => ({ EventTimestampMs: NOON, ScriptName: "shop", Outcome: "ok", ...fields });

async function textOf({ key, bytes }: { key: string; bytes: Uint8Array }): Promise<string> {
  if (key.endsWith(".parquet")) return linesIn(bytes);
  const member = readSingleMember(bytes);
  return member.ok ? new TextDecoder().decode(member.raw) : member.reason;
}

/** A world with a job of these options, all events taken, and what it shipped. */
async function shippedBy(output_options: object, events: readonly object[], fields: object = {}) {
  const world = new World(NOON);
  const bucket = freshBucket();
  const id = await createJob(bucket.name, { output_options, ...fields });
  await world.take(world.mint(events.length).map((each, i) => ({ ...each, event: events[i] }) as Minted));
  await world.deliverDue();
  await api("POST", `/logship/jobs/${id}/flush`);
  const objects = (await bucket.control.contents()).filter(({ key }) => /\.(log\.gz|parquet)$/.test(key));
  const text = (await Promise.all(objects.map(textOf))).join("");
  const { result: ledger } = (await api<Record<string, number>>("GET", `/logship/jobs/${id}/ledger`)).body;
  const listed = (await api<{ records: number }[]>("GET", `/logship/jobs/${id}/objects`)).body.result;
  return { id, text, ledger, listed, lines: text.split("\n").slice(0, -1) };
}

describe("truncate", () => {
  const long = "ü".repeat(20_000);
  const events = [
    record({ Logs: [log(long)], Exceptions: [{ name: "E", message: long, TimestampMs: NOON }] }),
    ...Array.from({ length: 60 }, (_, i) => record({ Logs: [log(`${i}`.repeat(2_000))] })),
  ];

  it("is what it was where it is not said, null or true", () => {
    for (const truncate of [undefined, null, true]) expect(withDefaults({ truncate })).toEqual(NDJSON);
  });

  it("false ships whole texts, of large messages, too", async () => {
    const { text, lines, ledger } = await shippedBy({ truncate: false }, [...events, ...events.slice(1)]);
    expect(lines).toHaveLength(121);
    const [{ Logs, Exceptions } = { Logs: [], Exceptions: [] }] = lines
      .map((line) => JSON.parse(line) as { Logs: object[]; Exceptions: object[] })
      .filter((each) => each.Exceptions.length > 0);
    expect([Logs, Exceptions]).toEqual([[log(long)], [{ name: "E", message: long, TimestampMs: NOON }]]);
    expect(text).not.toContain("truncated>>>");
    expect(ledger).toMatchObject({ received: 121, delivered: 121, bytes_raw: encodeUtf8(text).length });
  });

  it("false is previewed so, and says that nothing is truncated", async () => {
    const ask = (output_options: object) =>
      call<PreviewResult>("POST", "/logship/preview", { output_options, events: events.slice(0, 3) });
    const whole = (await ask({ truncate: false, field_names: ["Exceptions"] })).body.result;
    expect(whole).toMatchObject({ truncated: 0, kept: 3 });
    expect(whole.records[0]?.text).toContain(long);
    expect((await ask({})).body.result.truncated).toBe(1);
  });
});

describe("rows", () => {
  const events = [
    record({
      Logs: [log("one", "2"), log('{"user":7}')],
      Exceptions: [{ name: "E", message: "m", TimestampMs: NOON }],
    }),
    record({ Outcome: "canceled" }),
    record({ Logs: [log("last")] }),
    record({ Outcome: "exception", Logs: [log("not wanted")] }),
  ];
  const filter = JSON.stringify({ where: { key: "Outcome", operator: "!eq", value: "exception" } });
  const field_names = ["RowType", "Message", "Fields", "ScriptName"];
  const ROWS = [
    { RowType: "log", Message: "one 2", Fields: {}, ScriptName: "shop" },
    { RowType: "log", Message: "", Fields: { user: 7 }, ScriptName: "shop" },
    { RowType: "exception", Message: "m", Fields: {}, ScriptName: "shop" },
    { RowType: "log", Message: "last", Fields: {}, ScriptName: "shop" },
  ];

  it.each(["ndjson", "parquet"])(
    "log ships a row for each log line and exception; counts are of invocations, and balance: %s",
    async (output_type) => {
      const options = { output_type, rows: "log", field_names };
      const { id, lines, text, ledger, listed } = await shippedBy(options, events, { filter });
      expect(lines.map((line) => JSON.parse(line))).toEqual(ROWS);
      // The invocation without a row is filtered, as is the one that the filter rejects.
      expect(ledger).toMatchObject({
        received: 4,
        filtered: 2,
        delivered: 2,
        pending: 0,
        bytes_raw: encodeUtf8(text).length,
      });
      expect(listed.map(({ records }) => records)).toEqual([2]);
      const page = await api<{ lines: { text: string }[] }>("GET", `/logship/jobs/${id}/objects/1/records`);
      expect(page.body.result.lines.map((line) => line.text)).toEqual(lines);
    },
  );

  it.each(["ndjson", "parquet"])("log is previewed as it is shipped: %s", async (output_type) => {
    const { body } = await call<PreviewResult>("POST", "/logship/preview", {
      output_options: { output_type, rows: "log", field_names },
      filter,
      events,
    });
    const { records, not_kept, objects, ...counts } = body.result;
    expect(counts).toMatchObject({ events: 4, kept: 2, filtered: 2 });
    expect(not_kept.map(({ index }) => index)).toEqual([1, 3]);
    expect(records.map(({ text }) => text).join("")).toBe(objects[0]?.text);
    expect(
      objects[0]?.text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ).toEqual(ROWS);
  });

  it("invocation, null and nothing are the default", () => {
    for (const rows of ["invocation" as const, null, undefined]) expect(withDefaults({ rows })).toEqual(NDJSON);
  });
});

describe("a job with these options", () => {
  const create = (fields: object, options = {}) =>
    call<{ id: number; output_options: object }>(
      "POST",
      "/logship/jobs",
      { destination_conf: destinationConf(freshBucket().name), ...fields },
      options,
    );
  const configOf = async (id: number) => (await controlPlane(env.CONTROL).get(id))?.config;

  it.each([
    [{ rows: "line" }, "/rows", "rows: "],
    [{ truncate: "false" }, "/truncate", "truncate: "],
    [{ rows: "log", field_names: ["Level", "Exceptions"] }, "/field_names/1", "field Exceptions is none of rows"],
    [{ field_names: ["Outcome", "Level"] }, "/field_names/1", 'field Level is one of rows: set "rows" to "log"'],
    [{ field_names: ["Levels"] }, "/field_names/0", 'unknown field "Levels"'],
    [{ rows: "log", field_names: ["Source"] }, "/field_names/0", "Source is off"],
  ])("is refused where it is %j", async (output_options, at, why) => {
    const answer = await create({ output_options });
    expectRefused(answer, 400, [expect.any(Number), `/output_options${at}`, expect.stringContaining(why)]);
  });

  it("reads back what was sent, and ships anew in objects of its own", async () => {
    for (const output_options of [{ rows: "log" }, { truncate: false }, { rows: "log", truncate: false }]) {
      const { id, output_options: told } = (await create({ output_options })).body.result;
      expect(told).toEqual(output_options);
      const before = await configOf(id);
      expect(before).toMatchObject({ output: output_options });
      await call("PUT", `/logship/jobs/${id}`, { output_options: { rows: "invocation", truncate: true } });
      const after = await configOf(id);
      expect(after?.output).toEqual(NDJSON);
      expect(after?.outputVersion).toBeGreaterThan(before?.outputVersion ?? 0);
    }
  });

  it("has rows for no receiver, which takes records apart by lines", async () => {
    const destination_conf = "https://logs.example/in?header_Authorization=x";
    for (const output_options of [{ rows: "log" }, { rows: "log", truncate: false }]) {
      const answer = await call("POST", "/logship/preview", { destination_conf, output_options, events: [] });
      expect(errorsOf(answer)).toMatchObject([
        [1004, "/output_options/rows", expect.stringContaining("one record for each invocation")],
      ]);
    }
    const whole = await call("POST", "/logship/preview", {
      destination_conf,
      output_options: { truncate: false },
      events: [],
    });
    expect(whole.status).toBe(200);
  });
});

describe("escape_formulas", () => {
  const options = { output_type: "csv", field_names: ["ScriptName"], escape_formulas: true };
  const events = [record({ ScriptName: "=cmd|' /C calc'!A0" }), record({ ScriptName: "shop" })];

  it("is what objects, previews and an answer of the job have", async () => {
    const { id, text } = await shippedBy(options, events);
    const lines = ["\"'=cmd|' /C calc'!A0\"\n", '"shop"\n'];
    expect(text).toBe(lines.join(""));
    expect((await api<object>("GET", `/logship/jobs/${id}`)).body.result).toMatchObject({ output_options: options });
    const preview = await call<PreviewResult>("POST", "/logship/preview", { output_options: options, events });
    expect(preview.body.result?.records.map((each) => each.text)).toEqual(lines);
  });
});
