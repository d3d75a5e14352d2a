/** The public keys of manifests, and the settings that they come from. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { publishedKeys } from "../../../src/config.ts";
import { createApp } from "../../../src/web/app.ts";

const key = (byte: number): string => btoa(String.fromCharCode(...new Uint8Array(32).fill(byte)));
const ask = async (settings: object, init: RequestInit = {}): Promise<Response> =>
  createApp(platform).request("http://logship.test/.well-known/logship-keys.json", init, {
    ...env,
    ...settings,
  } as unknown as Env);

describe("/.well-known/logship-keys.json", () => {
  it("has the public key in force and those before it, without credentials, and no private one", async () => {
    const [before] = await publishedKeys({ SIGNING_KEY: key(1) });
    const answer = await ask({ SIGNING_KEY: key(2), SIGNING_KEYS_PREVIOUS: before?.public_key });
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(JSON.parse(text)).toEqual({
      keys: [
        expect.objectContaining({ state: "current", kty: "OKP", crv: "Ed25519" }),
        { ...before, state: "previous" },
      ],
    });
    expect(text).not.toContain(key(2).slice(0, 20));
  });

  it("has none without a key, whatever other settings are", async () => {
    expect(await (await ask({ SIGNING_KEY: "" })).json()).toEqual({ keys: [] });
    expect(await (await ask({ SIGNING_KEY: "short", ACCOUNT_ID: "" })).json()).toEqual({ keys: [] });
    expect((await ask({}, { method: "PUT" })).status).toBe(405);
  });
});
