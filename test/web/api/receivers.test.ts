/** Jobs that ship to receivers: what the API takes, refuses and shows, for each kind. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { termsOf } from "../../../src/ship/destinations/kinds.ts";
import { maskDestination, parsePlace } from "../../../src/ship/destinations/parse.ts";
import type { PreviewResult } from "../../../src/web/api/preview.ts";
import { NOON } from "../../formats/record/samples.ts";
import { PRODUCTION } from "../../ship/destinations/context.ts";
import { SECRETS } from "../../ship/destinations/kinds.ts";
import { RECEIVERS } from "../../ship/destinations/receivers.ts";
import { receiving } from "../../support/runtime/receiving.ts";
import { call, errorsOf, type Job, listJobs } from "./harness.ts";
import { token } from "./principals.ts";

const REQUIRED = { settings: { REQUIRE_OWNERSHIP_CHALLENGE: "true" } };

/** Changes a parameter that is no secret, by the scheme of receivers that have one. */
const PLAIN: Readonly<Record<string, (conf: string) => string>> = {
  https: (conf) =>
    conf.includes("newrelic") ? conf.replace("&format=cloudflare", "") : conf.replace("team=a", "team=b"),
  elastic: (conf) => `${conf}&pipeline=b`,
  datadog: (conf) => `${conf}&service=b`,
  splunk: (conf) => `${conf}&index=b`,
  loki: (conf) => `${conf}&max-age-hours=100`,
};

describe.each(Object.entries(RECEIVERS))("a job that ships to a receiver: %s", (name, { conf, service }) => {
  const terms = () => {
    const place = parsePlace(conf, PRODUCTION);
    if (!place.ok) throw new Error(place.why);
    return termsOf(place.value);
  };
  const create = (fields: object, options = {}) =>
    call<Job>("POST", "/logship/jobs", { destination_conf: conf, ...fields }, options);
  beforeEach(() => receiving(conf, service().fetch));

  it("is created after a test, and shows its secrets only with the right to change it", async () => {
    const created = await create({ enabled: true });
    expect(created.status).toBe(201);
    // It is asked whether it tells repeats, where that depends on it.
    const said = {
      code: expect.any(Number),
      message: expect.stringMatching(/^destination_conf: .* last 10000 inserts/),
    };
    expect(created.body.messages).toEqual(name === "clickhouse" ? [said] : []);
    expect((await listJobs())[0]?.destination_conf).toBe(conf);
    const { headers } = await token(["logs:read"]);
    const { result } = (await call<Job>("GET", "/logship/jobs/1", undefined, { headers })).body;
    expect(result.destination_conf).toBe(maskDestination(conf));
    const audit = JSON.stringify((await call("GET", "/logship/audit")).body);
    for (const secret of SECRETS) expect(JSON.stringify(result) + audit).not.toContain(secret);
    const again = await call<Job>("PUT", "/logship/jobs/1", { ...result, name: "masked" });
    expect([again.status, again.body.result.destination_conf]).toEqual([200, conf]);
  });

  it("gets another parameter with its secrets kept, and never another host or path", async () => {
    await create({ enabled: true });
    const masked = maskDestination(conf);
    const [, scheme = "", host = "", path = "", query = ""] = /^(\w+):\/\/([^/?]+)([^?]*)\??(.*)$/.exec(masked) ?? [];
    const change = (destination_conf: string) => call<Job>("PUT", "/logship/jobs/1", { destination_conf });
    const elsewhere = [
      `${scheme}://evil.example${path}?${query}`,
      `${scheme}://${host.split(":")[0]}:4443${path}?${query}`,
      `${scheme}://${host}/evil${path}?${query}`,
      `${scheme === "https" ? "otlp" : "https"}://${host}${path}?${query}`,
    ];
    const requests = receiving(conf, service().fetch);
    for (const each of elsewhere) expect([each, (await change(each)).status]).toEqual([each, 400]);
    expect(requests).toEqual([]);
    expect((await listJobs())[0]?.destination_conf).toBe(conf);
    const plain = PLAIN[scheme];
    if (plain === undefined) return;
    const { status, body } = await change(plain(masked));
    expect([status, body.errors, body.result?.destination_conf]).toEqual([200, [], plain(conf)]);
  });

  it("is not created where the test is refused, and no secret is in the answer", async () => {
    receiving(conf, async () => new Response(SECRETS.join(), { status: 403 }));
    const refused = await create({});
    expect(errorsOf(refused)).toEqual([[1004, "/destination_conf", expect.stringContaining("HTTP 403")]]);
    for (const secret of SECRETS) expect(JSON.stringify(refused.body)).not.toContain(secret);
    expect(await listJobs()).toEqual([]);
  });

  it("needs no proof of ownership, which it could not give", async () => {
    const asked = await call("POST", "/logship/ownership", { destination_conf: conf }, REQUIRED);
    expect(asked.body.result).toMatchObject({ valid: false, filename: "", message: expect.stringContaining("needed") });
    expect((await create({}, REQUIRED)).status).toBe(201);
    expect((await call("PUT", "/logship/jobs/1", { name: "x", destination_conf: conf }, REQUIRED)).status).toBe(200);
  });

  it("is refused what the receiver does not take, each with its place", async () => {
    const { plainRecords, fields } = terms();
    const output_options = { output_type: "csv", field_names: ["Outcome"] };
    const faults = errorsOf(await create({ canary: true, output_options })).map(([code, pointer]) => [code, pointer]);
    const expected = [
      ...(plainRecords ? ["/output_options/output_type"] : []),
      ...fields.filter((name) => name !== "Outcome").map(() => "/output_options/field_names"),
      "/canary",
    ];
    expect(faults).toEqual(expected.map((pointer) => [1004, pointer]));
    const texts = { record_template: "{{ .Outcome }}", batch_prefix: "[" };
    const template = errorsOf(await create({ output_options: texts }));
    const options = plainRecords ? ["batch_prefix", "record_template"] : [];
    expect(template.map(([, pointer]) => pointer)).toEqual(options.map((name) => `/output_options/${name}`));
    const logpull = errorsOf(await create({ logpull_options: "fields=Outcome" }));
    expect(logpull.map(([, pointer]) => pointer)).toEqual(logpull.map(() => "/logpull_options"));
    for (const field of fields.filter((name) => name !== "Outcome"))
      expect(JSON.stringify(logpull)).toContain(`needs the field ${field}`);
    const preview = { destination_conf: conf, output_options, events: [] };
    const previewed = errorsOf(await call("POST", "/logship/preview", preview));
    expect(previewed.map(([, pointer]) => pointer)).toEqual(expected.slice(0, -1));
  });

  it("is previewed as the requests that it would make, and nothing is sent", async () => {
    const requests = receiving(conf, service().fetch);
    const events = [
      { EventTimestampMs: NOON, ScriptName: "shop", Outcome: "ok" },
      { EventTimestampMs: NOON - 86_400_000, ScriptName: "shop", Outcome: "exception" },
    ];
    for (const destination_conf of [conf, maskDestination(conf)]) {
      const { status, body } = await call<PreviewResult>("POST", "/logship/preview", { destination_conf, events });
      expect(status).toBe(200);
      for (const secret of SECRETS) expect(JSON.stringify(body)).not.toContain(secret);
      const { requests: shown = [], refused = [], kept } = body.result;
      expect(kept).toBe(2);
      expect(shown.length).toBeGreaterThan(0);
      expect(shown.reduce((sum, { records }) => sum + records, 0) + refused.length).toBe(2);
      for (const { text, method, complete, headers } of shown) {
        expect([method, complete, headers["content-encoding"]]).toEqual(["POST", true, "gzip"]);
        expect(text).toContain("shop");
      }
    }
    expect(requests).toEqual([]);
  });
});

it("a preview for a store has no requests, and one for nothing is refused", async () => {
  const ask = (destination_conf: string) => call("POST", "/logship/preview", { destination_conf, events: [] });
  const store = await ask("s3://traces/logs?region=auto&endpoint=store.example&access-key-id=a&secret-access-key=b");
  expect([store.status, Object.keys(store.body.result as object)]).toEqual([
    200,
    expect.not.arrayContaining(["requests", "refused"]),
  ]);
  expect(errorsOf(await ask("nothing://x"))).toEqual([
    [1004, "/destination_conf", expect.stringContaining("unknown scheme")],
  ]);
  vi.restoreAllMocks();
});

it("a preview shows of large requests as much as it may, and how large they are", async () => {
  const { conf } = RECEIVERS.elastic as { conf: string };
  const Logs = [{ Level: "log", Message: ["ü".repeat(16_000)], TimestampMs: NOON }];
  const events = Array.from({ length: 7 }, () => ({ EventTimestampMs: NOON, ScriptName: "shop", Logs }));
  const { body } = await call<PreviewResult>("POST", "/logship/preview", { destination_conf: conf, events });
  const [request] = body.result.requests ?? [];
  expect(request).toMatchObject({ records: 7, complete: true });
  expect(request?.bytes).toBe(new TextEncoder().encode(request?.text).length);
});
