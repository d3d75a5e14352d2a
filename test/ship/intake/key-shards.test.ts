import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { KeptKeyShards } from "../../../src/ship/intake/key-shards.ts";

const plane = (keyShards: () => Promise<number | null>) => {
  const ask = vi.fn(keyShards);
  return { ask, CONTROL: { getByName: () => ({ keyShards: ask }) } as unknown as Env["CONTROL"] };
};

describe("the number of shards of keys", () => {
  it("is asked for once, and taken where nothing was set", async () => {
    const { ask, CONTROL } = plane(async () => 1);
    const kept = new KeptKeyShards();
    expect(await kept.of({ CONTROL })).toEqual({ ok: true, shards: 1 });
    expect(await kept.of({ CONTROL })).toEqual({ ok: true, shards: 1 });
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it("is refused where it was another at first", async () => {
    const { CONTROL } = plane(async () => 1);
    const answer = await new KeptKeyShards().of({ CONTROL, KEY_SHARDS: "4" } as Pick<Env, "CONTROL">);
    expect(answer).toEqual({ ok: false, why: expect.stringContaining("KEY_SHARDS is 4, but was 1 at first") });
  });

  it("is refused where it is malformed, or the control plane does not answer", async () => {
    const { ask, CONTROL } = plane(() => Promise.reject(new Error("down")));
    const kept = new KeptKeyShards();
    expect(await kept.of({ CONTROL, KEY_SHARDS: "3" } as Pick<Env, "CONTROL">)).toMatchObject({ ok: false });
    expect(ask).not.toHaveBeenCalled();
    expect(await kept.of({ CONTROL })).toEqual({ ok: false, why: expect.stringContaining("does not say") });
    ask.mockResolvedValue(1);
    expect(await kept.of({ CONTROL })).toEqual({ ok: true, shards: 1 });
  });

  it("is kept by the control plane from its beginning", async () => {
    expect(await env.CONTROL.getByName("key shards").keyShards()).toBe(1);
  });
});
