/** Probes and challenges at stores that forbid overwriting, or refuse a header. */
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { platform } from "../../../../src/base/platform.ts";
import { openDestination } from "../../../../src/ship/destinations/kinds.ts";
import { destinationConf } from "../../../support/runtime/api.ts";
import { bucketControl } from "../../../support/s3-control.ts";
import { type Action, type Match, type Rule, rule } from "../../../support/s3-script.ts";
import { destination, LOCAL } from "../context.ts";
import { fixed } from "../objects.ts";

/** Waits for nothing. */
const prompt = { ...platform, sleep: async () => {} };

const NOW = Date.UTC(2026, 10, 20, 12);
const PUT: Match = { method: "PUT" };
const KEY = "logs/00010101/test.txt.gz";
const SPARE = `logs/00010101/test-${NOW.toString(16)}.txt.gz`;

let names = 0;
let control = bucketControl(inject("s3Url"), "none");
let opened = openDestination(destination(destinationConf("none"), LOCAL), prompt);
beforeEach(() => {
  names += 1;
  control = bucketControl(inject("s3Url"), `odd-${names}`);
  const now = () => NOW;
  opened = openDestination(destination(destinationConf(`odd-${names}`), LOCAL), { ...prompt, now });
});
afterEach(async () => {
  await control.forget();
});

const refuses = (match: Match, status = 400): Rule =>
  rule({ do: "answer", status, code: "InvalidRequest" }, { ...PUT, ...match });
const asked = async () => (await control.requests()).map(({ method, key, status }) => `${method} ${key} ${status}`);

describe("where keys may only be created", () => {
  it("one object shows it each time, where the condition is looked at first", async () => {
    await control.script([rule({ do: "create-only" }, { ...PUT, conditional: false })]);
    for (let n = 0; n < 3; n++) expect(await opened.probe()).toBeNull();
    expect((await control.puts()).map(({ key }) => key)).toEqual([KEY]);
    expect((await asked()).slice(0, 4)).toEqual([
      `PUT ${KEY} 200`,
      `PUT ${KEY} 412`,
      `PUT ${KEY} 403`,
      `HEAD ${KEY} 200`,
    ]);
  });

  it.each([403, 409, 412])("it passes each time, answered %i whatever the condition is", async (status) => {
    await control.script([rule({ do: "create-only", status }, PUT)]);
    for (let n = 0; n < 2; n++) expect(await opened.probe()).toBeNull();
    const keys = (await control.puts()).map(({ key }) => key);
    expect(keys).toEqual(status === 412 ? [KEY] : [KEY, SPARE]);
  });

  it("it passes without the right to read", async () => {
    await control.script([
      rule({ do: "create-only" }, { ...PUT, conditional: false }),
      rule({ do: "answer", status: 403 }, { method: "HEAD" }),
    ]);
    for (let n = 0; n < 2; n++) expect(await opened.probe()).toBeNull();
    expect((await control.puts()).map(({ key }) => key)).toEqual([KEY]);
  });

  it("another client's object under its key is no obstacle, and stays", async () => {
    expect(await opened.challenge(KEY, "another's")).toBeNull();
    await control.script([rule({ do: "create-only" }, PUT)]);
    expect(await opened.probe()).toBeNull();
    expect((await control.puts()).map(({ key }) => key)).toEqual([KEY, SPARE]);
  });

  it("a challenge that stands there is there, and another is refused", async () => {
    const conditionFirst = { ...PUT, conditional: false };
    for (const match of [conditionFirst, PUT]) {
      await control.script([rule({ do: "create-only" }, match)]);
      for (let n = 0; n < 2; n++) expect(await opened.challenge("proof.txt", "1.2.three")).toBeNull();
      expect(await opened.challenge("proof.txt", "1.2.four!")).toContain("HTTP 403 AccessDenied");
    }
    expect((await control.puts()).map(({ key }) => key)).toEqual(["proof.txt"]);
  });

  it("keys that may read and not write do not pass", async () => {
    expect(await opened.probe()).toBeNull();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, PUT)]);
    expect(await opened.probe()).toBe("error writing object: error uploading: HTTP 403 AccessDenied");
  });
});

describe("where a header is refused", () => {
  it.each<[what: string, rules: Rule[]]>([
    ["the condition", [refuses({ conditional: true })]],
    ["the condition, with 501", [refuses({ conditional: true }, 501)]],
    ["Content-MD5", [refuses({ digest: true })]],
    ["both", [refuses({ conditional: true }), refuses({ digest: true })]],
    ["no Content-MD5", [refuses({ digest: false })]],
    ["no condition", [refuses({ conditional: false }, 403)]],
  ])("it passes, again and again: %s", async (_what, rules) => {
    await control.script(rules);
    for (let n = 0; n < 2; n++) expect([await opened.probe(), await opened.challenge("k", "t")]).toEqual([null, null]);
  });

  it("it is refused where a setting is refused that the store looks at after the condition", async () => {
    expect(await opened.probe()).toBeNull();
    await control.script([
      rule({ do: "answer", status: 412 }, { ...PUT, conditional: true, keyIncludes: KEY }),
      refuses({}),
    ]);
    expect(await opened.probe()).toBe("error writing object: error uploading: HTTP 400 InvalidRequest");
  });

  it.each<[what: string, rules: Rule[], puts: number]>([
    ["takes Content-MD5", [], 1],
    ["wants Content-MD5", [refuses({ digest: false })], 1],
    ["refuses Content-MD5", [refuses({ digest: true })], 2],
  ])("a canary is written where a store %s", async (_what, rules, puts) => {
    await control.script(rules);
    const body = new TextEncoder().encode("canary");
    const object = fixed(body, { key: "c", contentType: "text/plain" });
    expect(await opened.overwrite(object, body)).toBeNull();
    expect(await asked()).toHaveLength(puts);
    await control.script([refuses({}, 422)]);
    expect(await opened.overwrite(object, body)).toMatchObject({ cause: 422 });
  });
});

describe("where ETags are of the store's own making, and metadata is dropped", () => {
  it.each<[what: string, action: Action, words: string | null]>([
    ["the probe is read back, and is there", { do: "own-etag" }, null],
    ["other bytes come back", { do: "answer", status: 200, body: "x".repeat(61) }, "the store keeps other bytes"],
  ])("%s", async (_what, action, words) => {
    await control.script([rule(action, { method: "GET" }), rule({ do: "own-etag" })]);
    const fault = await opened.probe();
    if (words === null) expect(fault).toBeNull();
    else expect(fault).toContain(words);
  });
});
