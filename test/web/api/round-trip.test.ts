/**
 * A declarative tool creates a job from a configuration, reads it, compares, and sends its
 * configuration, or what it read, again. It must see every real difference and no other.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { StoredJob } from "../../../src/state/control/plane.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import sdk from "../../fixtures/create-body.json";
import { destinationConf } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call, freshBucket, type Job, listJobs } from "./harness.ts";

async function done<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await call<T>(method, `/logship/jobs${path}`, body);
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body.errors));
  return answer.body.result;
}

const create = (body: object) => done<Job>("POST", "", body);
const read = (id: number) => done<Job>("GET", `/${id}`);
const update = (id: number, body: object) => done<Job>("PUT", `/${id}`, body);

/** All that a tool compares: everything except the time of the last change. */
const stateOf = ({ time_modified: _time, ...job }: Job) => job;

/** How a job processes records, independent of its body. */
async function meaningOf(
  id: number,
): Promise<Pick<JobConfig, "filter" | "sampleRate" | "output" | "limits" | "canary">> {
  const job: StoredJob | null = await controlPlane(env.CONTROL).get(id);
  if (job === null) throw new Error(`no job ${id}`);
  const { filter, sampleRate, output, limits, canary = false } = job.config;
  return { filter, sampleRate, output, limits, canary };
}

const FILTER = '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}';
const { destination_conf: _conf, dataset: _dataset, filter: _filter, output_options: options, ...plain } = sdk.body;

const bodies: [what: string, body: object][] = [
  ["nothing but a destination", {}],
  [
    "what a form sends that was left empty",
    { name: "", filter: "", logpull_options: "", frequency: "", enabled: false },
  ],
  [
    "every field null",
    {
      ...Object.fromEntries(Object.keys(plain).map((name) => [name, null])),
      ...{ canary: null, dataset: null, filter: null, output_options: null, ownership_challenge: null },
    },
  ],
  ["a canary", { canary: true, enabled: false }],
  ["a canary that is declined", { canary: false }],
  ["the vendor's filter of attack traffic, declined", { filter_attack_traffic: false }],
  ["the vendor's filter of attack traffic, null", { filter_attack_traffic: null }],
  [
    "keys of tomorrow's schema that ask for nothing",
    {
      later: false,
      laterNull: null,
      later_text: "",
      "later-list": [],
      later_object: {},
      later_count: 0,
      output_options: { later: null, output_type: "csv" },
    },
  ],
  ["the vendor's dataset", { dataset: "workers_trace_events" }],
  ["the bounds", { max_upload_bytes: 1_000_000_000, max_upload_records: 1_000_000, max_upload_interval_seconds: 300 }],
  ["a name of any letters, and the longest", { name: 'ü€\u{1f600}<script>"\\'.padEnd(512, "n") }],
  ["empty options", { output_options: {} }],
  ["no field names", { output_options: { field_names: [] } }],
  [
    "options that are null, each of them",
    {
      output_options: Object.fromEntries(Object.keys(options).map((name) => [name, null])),
    },
  ],
  [
    "options in an order of their own",
    { output_options: { timestamp_format: "rfc3339", field_names: ["Outcome", "Event"], batch_suffix: "" } },
  ],
  ["the older options", { logpull_options: "timestamps=rfc3339&fields=Outcome,Event&sample=.5" }],
  ["a filter with blanks", { filter: ` ${FILTER.replaceAll(":", " : ")} ` }],
  [
    "what the vendor's client is tested with",
    {
      ...plain,
      dataset: "workers_trace_events",
      filter: FILTER,
      logpull_options: "fields=Event&timestamps=rfc3339",
      output_options: { ...options, field_names: ["EventTimestampMs", "Outcome", "Logs"] },
    },
  ],
];

/** `ownership_challenge` is request-only; null stands for the default. */
function shown(body: { [name: string]: unknown }): object {
  const { ownership_challenge: _challenge, ...rest } = body;
  if (rest.dataset === null) rest.dataset = "functions_trace_events";
  if (rest.enabled === null) rest.enabled = false;
  if (rest.kind === null) rest.kind = "";
  return rest;
}

describe("a job that is declared", () => {
  it.each(bodies)(
    "reads as it was sent, and sending it or what was read changes nothing: %s",
    async (_what, fields) => {
      const clock = setClock(NOON);
      const bucket = freshBucket();
      const body = { destination_conf: destinationConf(bucket.name), ...fields };
      const created = await create(body);
      expect(created).toMatchObject(shown(body));
      // No sub-keys were added.
      for (const [name, value] of Object.entries(shown(body))) expect(created[name]).toEqual(value);
      expect("output_options" in created).toBe("output_options" in body);
      expect("canary" in created).toBe("canary" in body);
      const meaning = await meaningOf(created.id);

      const first = await read(created.id);
      expect(JSON.stringify(first)).toBe(JSON.stringify(created));
      for (const again of [first, body]) {
        clock.advance(1_000);
        expect(JSON.stringify(stateOf(await update(created.id, again)))).toBe(JSON.stringify(stateOf(created)));
        expect(JSON.stringify(stateOf(await read(created.id)))).toBe(JSON.stringify(stateOf(created)));
        expect(await meaningOf(created.id)).toEqual(meaning);
      }
      expect((await listJobs()).map(stateOf)).toEqual([stateOf(created)]);
      // The destination was not written to again.
      expect((await bucket.control.requests()).length).toBe(1);
    },
  );

  it("is declared from what was read of another one, and is the same but for what the server says", async () => {
    const conf = destinationConf(freshBucket().name);
    const some = bodies.filter(([what]) => /every field null|tomorrow's schema|vendor's client/.test(what));
    expect(some.length).toBe(3);
    for (const [, fields] of some) {
      const one = await create({ destination_conf: conf, ...fields });
      const other = await create(one);
      expect(other.id).not.toBe(one.id);
      const { id: _one, time_created: _created, ...left } = stateOf(one);
      const { id: _other, time_created: _again, ...right } = stateOf(other);
      expect(right).toEqual(left);
      expect(await meaningOf(other.id)).toEqual(await meaningOf(one.id));
    }
  });
});

it("says which keys have no effect", async () => {
  const body = { destination_conf: destinationConf(freshBucket().name), later: false, output_options: { other: null } };
  const created = await call<Job>("POST", "/logpush/jobs", body);
  const notes = ["later", "other"].map((name) => ({
    code: 1003,
    message: `the key "${name}" is kept and echoed, and has no effect`,
  }));
  expect(created.body.messages).toEqual(notes);
  const { id } = created.body.result;
  expect((await call("PUT", `/logpush/jobs/${id}`, { later: null })).body.messages).toEqual(notes.slice(0, 1));
  expect(await read(id)).toMatchObject({ later: null, output_options: { other: null } });
  expect((await call("PUT", `/logpush/jobs/${id}`, { filter_attack_traffic: false })).body.messages).toEqual([]);
});

type Case = [field: string, set: unknown, change: unknown, cleared: unknown[]];

const clearable: Case[] = [
  ["name", "one", "two", [null, ""]],
  ["enabled", true, false, [null, false]],
  ["filter", FILTER, FILTER.replace("ok", "canceled"), [null, ""]],
  ["frequency", "high", "low", [null, ""]],
  ["logpull_options", "fields=Outcome", "fields=Event&sample=0.5", [null, ""]],
  ["output_options", { field_names: ["Outcome"] }, { output_type: "csv", sample_rate: 0.5 }, [null, {}]],
  ["max_upload_bytes", 5_000_000, 6_000_000, [null, 0]],
  ["max_upload_records", 1_000, 2_000, [null, 0]],
  ["max_upload_interval_seconds", 60, 300, [null, 0]],
  ["canary", true, false, [null, false]],
];

const option = (name: string, set: unknown, change: unknown, cleared: unknown[]): Case => [
  "output_options",
  ...([set, change].map((value) => ({ [name]: value })) as [unknown, unknown]),
  [...cleared.map((value) => ({ [name]: value })), {}],
];

const eachOption: Case[] = [
  option("field_names", ["Outcome"], ["Event", "Outcome"], [null, []]),
  option("output_type", "csv", "parquet", [null]),
  option("batch_prefix", "[", "<", [null, ""]),
  option("batch_suffix", "]", ">", [null, ""]),
  option("record_prefix", "<", "[", [null]),
  option("record_suffix", ">", "]", [null]),
  option("record_delimiter", ",", ";", [null, ""]),
  option("field_delimiter", ";", "|", [null]),
  option("record_template", "{{.Outcome}}", "{{.ScriptName}}", [null, ""]),
  option("timestamp_format", "rfc3339", "unix", [null]),
  option("sample_rate", 0.5, 0.25, [null]),
  option("CVE-2021-44228", true, false, [null]),
  option("merge_subrequests", true, false, [null]),
];

describe("a field", () => {
  it.each([...clearable, ...eachOption])(
    "is set, changed and cleared, and then means what it did before: %s of %j",
    async (field, set, change, cleared) => {
      setClock(NOON);
      const { id } = await create({
        destination_conf: destinationConf(freshBucket().name),
        name: "x",
        [field]: undefined,
      });
      const before = await meaningOf(id);
      const turns = cleared.flatMap((nothing, i) => [i % 2 === 0 ? change : set, nothing]);
      for (const value of [set, ...turns]) {
        const answer = await update(id, { [field]: value });
        const now = await read(id);
        expect(now[field]).toEqual(field === "enabled" && value === null ? false : value);
        expect(now).toEqual(answer);
        const meaning = await meaningOf(id);
        if (cleared.includes(value)) expect(meaning).toEqual(before);
        // Sending back what was read changes nothing.
        expect(stateOf(await update(id, now))).toEqual(stateOf(now));
        expect(await meaningOf(id)).toEqual(meaning);
      }
    },
  );

  it("covers every option there is", () => {
    const named = eachOption.map(([, set]) => Object.keys(set as object)[0]);
    expect(named.sort()).toEqual(Object.keys(options).sort());
  });
});
