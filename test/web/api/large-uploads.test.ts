/** Uploads of more than 10 MiB go on to the platform as they come, and none of them is held. */
import { createHash } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import {
  LOCAL_UPLOAD_MAX_BYTES,
  UPLOAD_MAX_BYTES,
  UPLOAD_METADATA_MAX_BYTES,
  UPLOAD_STREAMED_MAX_BYTES,
} from "../../../src/base/limits.ts";
import { isolateMemory } from "../../../src/base/memory.ts";
import type { Platform } from "../../../src/base/platform.ts";
import { BOUNDARY, FORM_TYPE, field, form, module } from "../../state/functions/forms.ts";
import { onFakeClock } from "../../support/runtime/stalled.ts";
import { call } from "./harness.ts";
import { askAs, loggingOf, SCRIPTS, said, scriptedApi } from "./scripted-platform.ts";

const PIECE = 65_536;
/** What pipes hold between the two ends, in bytes. */
const AHEAD_MAX = 8 * PIECE;
const LARGE = 60 * 1024 * 1024;

const METADATA = { main_module: "my-worker.js", logship: true, tail_consumers: [{ service: "other" }] };

/** A form with one large module, made while it is sent. */
function largeForm(bytes: number, { first = [field(METADATA)], breaksAt = Number.POSITIVE_INFINITY } = {}) {
  const head = form([...first, module(), module("data.bin", "", "application/octet-stream")], BOUNDARY, "");
  const [before, end] = [head.slice(0, -2), encodeUtf8(`\r\n--${BOUNDARY}--\r\n`)];
  let made = 0;
  const next = (): Uint8Array => {
    if (made === 0) return before;
    if (made >= bytes - end.length) return end;
    return new Uint8Array(Math.min(PIECE, bytes - end.length - made)).fill(made / PIECE);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (made >= breaksAt) return controller.error(new Error("gone"));
        const piece = next();
        made += piece.length;
        controller.enqueue(piece);
        if (made === bytes) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": FORM_TYPE, "content-length": `${bytes}` };
  return { body, headers, made: () => made, first: form(first, BOUNDARY, "") };
}

/** The platform, which reads slowly, and measures how much of the body is on its way. */
function slowPlatform(made: () => number) {
  const seen = { url: "", type: "", metadata: "", bytes: 0, mostAhead: 0, restSha256: "" };
  const scripted = scriptedApi();
  const world: Platform = {
    ...scripted,
    async fetch(url, init) {
      if (init.method === "GET") return scripted.fetch(url, init);
      Object.assign(seen, { url, type: new Headers(init.headers).get("content-type") });
      const hash = createHash("sha256");
      let head = new Uint8Array();
      let isRest = false;
      let pieces = 0;
      for await (const piece of init.body as ReadableStream<Uint8Array>) {
        seen.bytes += piece.length;
        seen.mostAhead = Math.max(seen.mostAhead, made() - seen.bytes);
        if (isRest) hash.update(piece);
        else {
          head = concat([head, piece as Uint8Array<ArrayBuffer>]);
          const at = new TextDecoder().decode(head).indexOf(`\r\n--${BOUNDARY}`);
          isRest = at !== -1;
          if (!isRest) continue;
          seen.metadata = new TextDecoder().decode(head.slice(0, at));
          hash.update(head.slice(at));
        }
        if (++pieces % 64 === 0) await scheduler.wait(0);
      }
      seen.restSha256 = hash.digest("hex");
      return said({ id: "shop" });
    },
  };
  return { world, seen, judged: scripted.judged };
}

describe("an upload of 60 MiB", () => {
  it("goes on to the byte with its metadata changed, and never more than half a megabyte of it is held", async () => {
    const large = largeForm(LARGE);
    const { world, seen } = slowPlatform(large.made);
    const answer = await askAs(world, "PUT", "/functions/scripts/shop", large.body, { headers: large.headers });
    expect([answer.status, answer.json?.result]).toEqual([200, { id: "shop" }]);
    expect(seen.url).toMatch(/\/workers\/scripts\/shop$/);
    expect(seen.type).toBe(`multipart/form-data; boundary="${BOUNDARY}"`);
    const [head = "", metadata = ""] = seen.metadata.split("\r\n\r\n");
    expect(head).toContain('name="metadata"');
    expect(JSON.parse(metadata)).toEqual({
      main_module: "my-worker.js",
      tail_consumers: [{ service: "other" }, { service: "logship" }],
    });
    const restBytes = LARGE - (large.first.length - 2);
    expect(seen.bytes).toBe(seen.metadata.length + restBytes);
    expect(seen.restSha256).toBe(await restOf(LARGE));
    expect(seen.mostAhead).toBeLessThanOrEqual(AHEAD_MAX);
    expect(await loggingOf()).toBe("on");
  });

  it("goes on as a version, too", async () => {
    const large = largeForm(11 * 1024 * 1024);
    const { world, seen } = slowPlatform(large.made);
    const answer = await askAs(world, "POST", `${SCRIPTS}/shop/versions`, large.body, { headers: large.headers });
    expect([answer.status, seen.mostAhead <= AHEAD_MAX]).toEqual([200, true]);
    expect(JSON.parse(seen.metadata.split("\r\n\r\n")[1] ?? "")).toEqual({
      main_module: "my-worker.js",
      tail_consumers: [{ service: "other" }],
    });
    expect(await loggingOf()).toBe("unset");
  });

  it("that breaks off changes nothing here", async () => {
    const large = largeForm(LARGE, { breaksAt: 6 * 1024 * 1024 });
    const { world } = slowPlatform(large.made);
    const answer = await askAs(world, "PUT", "/functions/scripts/shop", large.body, { headers: large.headers });
    expect([answer.status, await loggingOf()]).toEqual([503, "unset"]);
  });

  it.each([
    ["in its metadata", { breaksAt: 0 }, [408, "the body broke off, or nothing of it came; repeat the request"]],
    [
      "with a module before its metadata",
      { first: [module("a.js"), field(METADATA)] },
      [400, `a form of more than ${UPLOAD_MAX_BYTES} bytes must begin with the part "metadata"`],
    ],
    [
      "with a module that line ends hide behind its metadata",
      {
        first: [
          field(
            `${JSON.stringify(METADATA)}\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="a.js"; filename="a.js"\r\n\r\nx`,
          ),
        ],
      },
      [400, `a form of more than ${UPLOAD_MAX_BYTES} bytes must begin with the part "metadata"`],
    ],
    ["with malformed metadata", { first: [field("{")] }, [400, expect.stringMatching(/^metadata: not JSON: /)]],
    ["without a main module", { first: [field({})] }, [400, "metadata.main_module: is missing"]],
    [
      "with too much metadata",
      { first: [field("x".repeat(UPLOAD_METADATA_MAX_BYTES + 1))] },
      [400, `metadata: larger than ${UPLOAD_METADATA_MAX_BYTES} bytes`],
    ],
  ])("that breaks off or is malformed %s is refused, and does not reach the platform", async (_, how, refusal) => {
    const large = largeForm(LARGE, how as object);
    const { world, seen } = slowPlatform(large.made);
    const answer = await askAs(world, "PUT", "/functions/scripts/shop", large.body, { headers: large.headers });
    expect([answer.status, answer.json?.errors[0]?.message]).toEqual(refusal);
    // What is read of the rest is dropped, so that the answer arrives.
    expect([seen.url, large.made() < LARGE]).toEqual(["", true]);
  });
});

describe("what is not held of an upload", () => {
  it("is no other metadata, of which the platform might choose either", async () => {
    const large = largeForm(11 * 1024 * 1024, { first: [field(METADATA), module("a.js"), field({ logship: false })] });
    const { world } = slowPlatform(large.made);
    const answer = await askAs(world, "PUT", "/functions/scripts/shop", large.body, { headers: large.headers });
    expect([answer.status, answer.json?.errors[0]?.message]).toEqual([
      400,
      'only the first part may be named "metadata", and no part\'s name may be encoded',
    ]);
    expect(await loggingOf()).toBe("unset");
  });

  it("is dropped where its metadata is refused, so that the answer arrives", async () => {
    const large = largeForm(LARGE);
    const { world, seen } = slowPlatform(large.made);
    const answer = await askAs(world, "PUT", "/functions/scripts/logship", large.body, { headers: large.headers });
    expect([answer.status, seen.url]).toEqual([400, ""]);
    expect(large.made()).toBeGreaterThan(16 * 1024 * 1024);
  });

  it("waits for memory for its metadata, and gives it back", async () => {
    const before = isolateMemory.held;
    const take = vi.spyOn(isolateMemory, "take").mockResolvedValueOnce(null);
    const put = async (bytes = 11 * 1024 * 1024) => {
      const large = largeForm(bytes);
      const { world } = slowPlatform(large.made);
      const answer = await askAs(world, "PUT", "/functions/scripts/shop", large.body, { headers: large.headers });
      return [answer.status, isolateMemory.held - before];
    };
    expect(await put()).toEqual([503, 0]);
    expect(await put()).toEqual([200, 0]);
    expect(await put(UPLOAD_STREAMED_MAX_BYTES + 1)).toEqual([413, 0]);
    expect(take.mock.calls).toEqual([1, 2, 3].map(() => [2 * UPLOAD_METADATA_MAX_BYTES]));
  });

  it("is counted in bytes by the audit, not in modules", async () => {
    const large = largeForm(11 * 1024 * 1024);
    const { world } = slowPlatform(large.made);
    await askAs(world, "PUT", "/functions/scripts/shop", large.body, { headers: large.headers });
    const { body } = await call<{ body: object }[]>("GET", "/logship/audit");
    expect(body.result?.[0]?.body).toEqual({ main_module: "my-worker.js", logship: true, bytes: 11 * 1024 * 1024 });
  });

  it("is waited for no longer than ten seconds, though its metadata drips", async () => {
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 3_000));
          controller.enqueue(encodeUtf8("-"));
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { "content-type": FORM_TYPE, "content-length": `${LARGE}` };
    const { value, seconds } = await onFakeClock(() =>
      askAs(scriptedApi(), "PUT", `${SCRIPTS}/shop`, body, { headers }),
    );
    expect([value.status, value.json?.errors[0]?.message]).toEqual([
      408,
      "the metadata did not arrive in time; repeat the request",
    ]);
    expect(seconds).toBeLessThanOrEqual(15);
  });
});

describe("a larger upload than", () => {
  it("a request may be is refused before any of it is read", async () => {
    const large = largeForm(UPLOAD_STREAMED_MAX_BYTES + 1);
    const { world, judged } = slowPlatform(large.made);
    const answer = await askAs(world, "PUT", "/functions/scripts/shop", large.body, { headers: large.headers });
    const words = `the body is larger than ${UPLOAD_STREAMED_MAX_BYTES} bytes`;
    expect([answer.status, answer.json?.errors[0]?.message]).toEqual([413, words]);
    expect(judged).toHaveLength(1);
  });

  it("a local function may be is refused before any of it is read", async () => {
    const headers = { "content-type": FORM_TYPE, "content-length": `${LOCAL_UPLOAD_MAX_BYTES + 1}` };
    const settings = { LOCAL_FUNCTIONS: "http://localhost:8788" };
    const answer = await call("PUT", "/functions/scripts/shop", encodeUtf8("x"), { headers, settings });
    const words = `the body is larger than ${LOCAL_UPLOAD_MAX_BYTES} bytes`;
    expect([answer.status, answer.body.errors[0]?.message]).toEqual([413, words]);
  });
});

/** The hash of a form without its first part. */
async function restOf(bytes: number): Promise<string> {
  const { body, first } = largeForm(bytes);
  const hash = createHash("sha256");
  let skip = first.length - 2;
  for await (const piece of body) {
    hash.update(piece.slice(skip));
    skip = Math.max(0, skip - piece.length);
  }
  return hash.digest("hex");
}
