import { describe, expect, it, vi } from "vitest";
import { UploadSlots } from "../../src/api/upload-slots.ts";
import { UPLOAD_READ_MS, UPLOAD_SLOT_MS, UPLOAD_SMALL_MAX_BYTES, UPLOADS_AT_ONCE } from "../../src/limits.ts";
import { curlForm, FORM_TYPE } from "../functions/forms.ts";
import { askAs, type Got, put, SCRIPTS, type ScriptedApi, said, scriptedApi } from "./scripted-platform.ts";

/** An upload of unknown length that does not end. */
function openEnded(world: ScriptedApi): { answer: Promise<Got>; end: () => void } {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const answer = askAs(world, "PUT", `${SCRIPTS}/shop`, readable, { headers: { "content-type": FORM_TYPE } });
  return { answer, end: () => void writer.write(curlForm()).then(() => writer.close()) };
}

describe("large uploads", () => {
  it("are read two at a time, those of bearers that nobody knows among them; what is small is read all the same", async () => {
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
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const world = scriptedApi();
      const { answer } = openEnded(world);
      await vi.advanceTimersByTimeAsync(UPLOAD_READ_MS);
      const { status, json } = await answer;
      expect([status, json?.errors[0]?.message]).toEqual([400, `the body did not arrive within ${UPLOAD_READ_MS} ms`]);
      expect(world.asked).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
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
