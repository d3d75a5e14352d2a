import { describe, expect, it } from "vitest";
import { UPLOAD_PACE, UPLOAD_SLOT_MS, UPLOAD_SMALL_MAX_BYTES, UPLOADS_AT_ONCE } from "../../../src/base/limits.ts";
import { UploadSlots } from "../../../src/web/api/upload-slots.ts";
import { curlForm, FORM_TYPE } from "../../state/functions/forms.ts";
import { onFakeClock, stalled } from "../../support/runtime/stalled.ts";
import { until } from "../../support/until.ts";
import {
  askAs,
  BEARER,
  type Got,
  put,
  SCRIPTS,
  type ScriptedApi,
  said,
  scriptedApi,
  THEIRS,
} from "./scripted-platform.ts";

/** An upload of unknown length that does not end. */
function openEnded(world: ScriptedApi): { answer: Promise<Got>; end: () => void } {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const answer = askAs(world, "PUT", `${SCRIPTS}/shop`, readable, { headers: { "content-type": FORM_TYPE } });
  return { answer, end: () => void writer.write(curlForm()).then(() => writer.close()) };
}

/** A body that says whether it was read. */
function watchedBody(): { body: ReadableStream<Uint8Array>; pulls: () => number } {
  let pulls = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    pulls += 1;
    controller.close();
  };
  return { body: new ReadableStream({ pull }, { highWaterMark: 0 }), pulls: () => pulls };
}

describe("an invented bearer", () => {
  it("has the platform's refusal, and takes no slot, however many there are at once", async () => {
    const world = scriptedApi(said({}));
    const pending: ((answer: Response) => void)[] = [];
    world.judge = ({ headers }) =>
      headers.authorization === `Bearer ${BEARER}` ? said({}, 404) : new Promise((resolve) => pending.push(resolve));
    const strangers = Array.from({ length: 20 }, (_, n) => {
      const { body, pulls } = watchedBody();
      const headers = { "content-type": FORM_TYPE, authorization: `Bearer invented-${n}` };
      return { answer: askAs(world, "PUT", `${SCRIPTS}/shop`, body, { headers }), pulls };
    });
    await until(() => pending.length === strangers.length);
    // All of them are still being judged, and no other has to wait for that.
    expect((await put(world)).status).toBe(200);
    expect(strangers.map(({ pulls }) => pulls())).toEqual(strangers.map(() => 0));
    for (const answer of pending) answer(said(null, 401));
    for (const { answer } of strangers) {
      const { status, headers, json } = await answer;
      expect([status, headers.get("www-authenticate"), json?.errors[0]?.message]).toEqual([
        401,
        "Bearer",
        "said by the platform",
      ]);
    }
    expect(world.asked.map(({ method }) => method)).toEqual(["PUT"]);
  });

  it.each([400, 401, 403, 429, 500])("is refused with %i before a setting that it sends is read", async (status) => {
    const world = scriptedApi();
    const { body, pulls } = watchedBody();
    const seen: number[] = [];
    world.judge = () => {
      seen.push(pulls());
      return said(null, status);
    };
    const answer = await askAs(world, "PATCH", `${SCRIPTS}/shop/script-settings`, body, {
      headers: { "content-type": "application/json" },
    });
    expect([answer.status, answer.json?.errors[0]?.message, seen]).toEqual([status, "said by the platform", [0]]);
    expect([world.judged.length, world.asked]).toEqual([1, []]);
  });

  it("is all that the platform is told in that question, beside the name of the script", async () => {
    const world = scriptedApi(said({}));
    await askAs(world, "PUT", `${SCRIPTS}/a%20b?x=1`, curlForm() as Uint8Array<ArrayBuffer>, {
      headers: { "content-type": FORM_TYPE },
    });
    expect(world.judged.map(({ url, headers }) => [url, headers])).toEqual([
      [`${THEIRS}/a%20b/settings`, { authorization: `Bearer ${BEARER}` }],
    ]);
  });
});

describe("large uploads", () => {
  it("are read two at a time; what is small is read all the same", async () => {
    const world = scriptedApi(said({}), said({}), said({}), said({}));
    const first = Array.from({ length: UPLOADS_AT_ONCE }, () => openEnded(world));
    const headers = { "content-type": FORM_TYPE };
    const refused = await put(world, curlForm(), "shop", {
      headers: { ...headers, "content-length": `${UPLOAD_SMALL_MAX_BYTES + 1}` },
    });
    expect([refused.status, refused.headers.get("retry-after"), refused.json?.errors[0]?.code]).toEqual([
      429,
      "5",
      971,
    ]);
    const packed = await put(world, curlForm(), "shop", {
      headers: { ...headers, "content-length": "100", "content-encoding": "gzip" },
    });
    expect(packed.status).toBe(429);
    const small = { headers: { ...headers, "content-length": `${curlForm().length}` } };
    expect((await put(world, curlForm(), "shop", small)).status).toBe(200);
    for (const { end } of first) end();
    expect(await Promise.all(first.map(async ({ answer }) => (await answer).status))).toEqual([200, 200]);
    expect((await put(world)).status).toBe(200);
    expect(world.asked).toHaveLength(4);
  });

  it("that do not come are not waited for", async () => {
    const world = scriptedApi();
    const { body, seen } = stalled("--");
    const headers = { "content-type": FORM_TYPE };
    const { value, seconds } = await onFakeClock(() => askAs(world, "PUT", `${SCRIPTS}/shop`, body, { headers }));
    expect([value.status, value.json?.errors[0]?.code, seconds]).toEqual([408, 1008, UPLOAD_PACE.silenceMs / 1_000]);
    expect([world.asked, seen.cancelled]).toEqual([[], true]);
  });

  it("may take a while, as long as they come", async () => {
    const world = scriptedApi(said({}));
    const form = curlForm();
    const size = Math.ceil(form.length / 6);
    let sent = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, UPLOAD_PACE.silenceMs - 2_000));
      if (sent >= form.length) return controller.close();
      controller.enqueue(form.slice(sent, sent + size));
      sent += size;
    };
    const headers = { "content-type": FORM_TYPE };
    const { value, seconds } = await onFakeClock(() =>
      askAs(world, "PUT", `${SCRIPTS}/shop`, new ReadableStream({ pull }), { headers }),
    );
    expect([value.status, seconds > 40]).toEqual([200, true]);
  });

  it("free their slot when they end, and after a while if nothing more is heard of them", () => {
    const slots = new UploadSlots();
    const free = slots.take(0);
    slots.take(1);
    expect(slots.take(2)).toBeNull();
    free?.();
    expect(slots.take(3)).not.toBeNull();
    expect(slots.take(UPLOAD_SLOT_MS)).toBeNull();
    expect(slots.take(UPLOAD_SLOT_MS + 1)).not.toBeNull();
    expect(slots.take(UPLOAD_SLOT_MS + 2)).toBeNull();
  });
});
