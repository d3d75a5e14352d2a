import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { encodeUtf8 } from "../../../../src/base/bytes.ts";
import { platform } from "../../../../src/base/platform.ts";
import { objectStore } from "../../../../src/ship/destinations/s3/object-store.ts";
import type { StoreAnswer, StoreClient } from "../../../../src/ship/destinations/store/client.ts";
import { type Probed, writeProbe as write } from "../../../../src/ship/destinations/store/probe.ts";
import { compare, confirms, damageWords, type SentObject } from "../../../../src/ship/destinations/store/stored.ts";
import { destinationConf } from "../../../support/runtime/api.ts";
import { bucketControl } from "../../../support/s3-control.ts";
import { type Action, rule } from "../../../support/s3-script.ts";
import { destination, LOCAL } from "../context.ts";
import { answer, fixed } from "../objects.ts";

const [{ md5, sha256 }, { md5: otherMd5 }] = [fixed(encodeUtf8("abc")), fixed(encodeUtf8("abd"))];
const sent: SentObject = { bytes: 3, sha256, md5 };

const unreachable: StoreAnswer = { kind: "unreachable", cause: "timeout" };

describe("the answer to a PUT", () => {
  it.each<[what: string, answer: StoreAnswer, confirmed: boolean]>([
    ["200 with the MD5 of the object", answer(200, { etag: `"${md5}"` }), true],
    ["201 with it", answer(201, { etag: `"${md5}"` }), true],
    ["without quotes", answer(200, { etag: md5 }), true],
    ["weak", answer(200, { etag: `W/"${md5}"` }), true],
    ["in upper case", answer(200, { etag: `"${md5.toUpperCase()}"` }), true],
    ["200 with another", answer(200, { etag: `"${otherMd5}"` }), false],
    ["200 with that of several parts", answer(200, { etag: `"${md5}-1"` }), false],
    ["200 with an empty one", answer(200, { etag: "" }), false],
    ["200 with none", answer(200), false],
    ["204 with none", answer(204), false],
    ["412 with it", answer(412, { etag: `"${md5}"` }), false],
    ["304 with it", answer(304, { etag: `"${md5}"` }), false],
    ["none", unreachable, false],
  ])("says that the store has the object, or does not: %s", (_what, given, confirmed) => {
    expect(confirms(given, sent)).toBe(confirmed);
  });
});

describe("what HEAD shows", () => {
  const ours = { sha256, bytes: 3 };
  it.each<[what: string, head: StoreAnswer, shown: string]>([
    ["our checksum and length", answer(200, { ...ours, etag: `"${otherMd5}"` }), "same"],
    ["our checksum and length, and no ETag", answer(200, ours), "same"],
    ["the MD5 and length", answer(200, { etag: `"${md5}"`, bytes: 3 }), "same"],
    ["the MD5, and no length", answer(200, { etag: `W/"${md5.toUpperCase()}"` }), "same"],
    ["our checksum, and no length", answer(200, { sha256, etag: '"x"' }), "hidden"],
    ["our checksum, and less", answer(200, { sha256, bytes: 2 }), "damaged"],
    ["our checksum, and nothing", answer(200, { sha256, bytes: 0 }), "damaged"],
    ["our checksum, and more", answer(200, { sha256, bytes: 4 }), "damaged"],
    ["the MD5, and another length", answer(200, { etag: `"${md5}"`, bytes: 2 }), "damaged"],
    ["another checksum, and our length", answer(200, { sha256: "0".repeat(64), bytes: 3 }), "different"],
    ["another MD5, and our length", answer(200, { etag: `"${otherMd5}"`, bytes: 3 }), "lookalike"],
    ["another MD5, and no length", answer(200, { etag: `"${otherMd5}"` }), "lookalike"],
    ["another MD5, and another length", answer(200, { etag: `"${otherMd5}"`, bytes: 2 }), "different"],
    ["no checksum, and another length", answer(200, { etag: '"x"', bytes: 2 }), "nameless"],
    ["no checksum and no length", answer(200, { etag: '"x"' }), "nameless"],
    ["nothing at all", answer(200), "nameless"],
    [
      "another MD5 of several parts, and another length",
      answer(200, { etag: `"${otherMd5}-2"`, bytes: 2 }),
      "different",
    ],
    ["an ETag that is no MD5, and our length", answer(200, { etag: '"0x8DC0FFEE"', bytes: 3 }), "hidden"],
    ["no ETag, and our length", answer(200, { bytes: 3 }), "hidden"],
    ["that of several parts, and our length", answer(200, { etag: `"${otherMd5}-2"`, bytes: 3 }), "hidden"],
    ["404", answer(404), "absent"],
    ["404 with our checksum", answer(404, ours), "absent"],
    ["410", answer(410), "absent"],
    ...[400, 401, 403, 405, 451, 501].map((status): [string, StoreAnswer, string] => [
      `${status}`,
      answer(status),
      "hidden",
    ]),
    ...[204, 206, 301, 304, 408, 409, 412, 425, 429, 500, 503, 600].map((status): [string, StoreAnswer, string] => [
      `${status} with our checksum`,
      answer(status, ours),
      "unknown",
    ]),
    ["no answer", unreachable, "unknown"],
  ])("is weighed: %s", (_what, head, shown) => {
    expect(compare(head, sent)).toBe(shown);
  });

  it.each<[head: StoreAnswer, words: string]>([
    [answer(200, { bytes: 1 }), "the store keeps 1 of 3 bytes"],
    [answer(200, { bytes: 0 }), "the store keeps 0 of 3 bytes"],
    [answer(200, { bytes: 3 }), "the store keeps other bytes than it was sent"],
    [answer(200, { bytes: 4 }), "the store keeps other bytes than it was sent"],
    [answer(200), "the store does not show what it keeps"],
  ])("is said: %j", (head, words) => {
    expect(damageWords(head, sent)).toBe(words);
  });
});

describe("the probe of a destination", () => {
  const writeProbe = (to: StoreClient, path: string): Promise<Probed> => write(to, path, 0);
  const written = { kind: "written", leaveOut: 0 };
  let names = 0;
  let control = bucketControl(inject("s3Url"), "none");
  let store = objectStore(destination(destinationConf("none"), LOCAL), platform);
  beforeEach(() => {
    names += 1;
    control = bucketControl(inject("s3Url"), `probe-${names}`);
    store = objectStore(destination(destinationConf(`probe-${names}`), LOCAL), platform);
  });
  afterEach(async () => {
    await control.forget();
  });

  it.each([
    ["logs/{DATE}", "logs/00010101/test.txt.gz"],
    ["date={DATE}/again={DATE}", "date=00010101/again=00010101/test.txt.gz"],
    ["logs", "logs/test.txt.gz"],
    ["", "test.txt.gz"],
  ])("lies under the day that is none: %s", async (path, key) => {
    expect(await writeProbe(store, path)).toEqual(written);
    const object = await control.object(key);
    const text = await new Response(new Response(object).body?.pipeThrough(new DecompressionStream("gzip"))).text();
    expect(JSON.parse(text)).toEqual({ content: "test", filename: "test.txt" });
  });

  it("may be written again and again, is the same each time, and costs a request, then two", async () => {
    await writeProbe(store, "x");
    expect(await writeProbe(store, "x")).toEqual(written);
    const puts = await control.puts();
    expect(puts.map(({ key, sha256: sum }) => [key, sum])).toEqual(
      [puts[0], puts[0]].map((put) => ["x/test.txt.gz", put?.sha256]),
    );
    expect((await control.requests()).map(({ method }) => method)).toEqual(["PUT", "PUT", "PUT"]);
  });

  const PAGE: Action = { do: "answer", status: 200, body: "<html>Please log in</html>" };
  const failed = (words: string) => ({
    kind: "failed",
    failure: { cause: "not_kept", words: expect.stringMatching(words) },
  });
  const half = failed("^the store keeps \\d\\d of \\d\\d bytes$");
  it.each<[what: string, put: Action, head: Action | null, outcome: object]>([
    ["keeps nothing", { do: "discard" }, null, failed("^HTTP 200, but the object is not there$")],
    ["keeps half", { do: "truncate" }, null, half],
    ["is a page that answers everything", PAGE, PAGE, half],
    ["has ETags that are no MD5", { do: "wrong-etag" }, { do: "wrong-etag" }, written],
    ["has no ETags", { do: "no-etag" }, { do: "no-etag" }, written],
    ["drops metadata", { do: "drop-meta" }, null, written],
    ["allows no HEAD", { do: "wrong-etag" }, { do: "answer", status: 403 }, written],
    ["cannot answer to HEAD now", { do: "wrong-etag" }, { do: "answer", status: 503 }, written],
    ["resets HEAD", { do: "wrong-etag" }, { do: "reset", when: "before" }, written],
  ])("at a store that says 200 and %s", async (_what, put, head, outcome) => {
    const rules = [rule(put, { method: "PUT" }), ...(head === null ? [] : [rule(head, { method: "HEAD" })])];
    await control.script(rules);
    expect(await writeProbe(store, "x")).toMatchObject(outcome);
  });
});
