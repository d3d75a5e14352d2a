/** Signatures against the published answer, and against code that shares nothing with ours. */
import { describe, expect, it } from "vitest";
import { newWebhookSecret, signatureHeaders } from "../../../src/operate/alerts/signature.ts";
import { verify } from "./verify.ts";

/**
 * The test `sign function works` of the specification's own library:
 * https://github.com/standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts,
 * at 10d3e46d720c4e5861a792bec25792a04ad4e2b3. The numbers are theirs; the library itself is not
 * run here.
 */
const PUBLISHED = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestampS: 1_614_265_330,
  body: '{"test": 2432232314}',
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

describe("a signature", () => {
  it("is the published one", () => {
    const { secret, signature, ...signed } = PUBLISHED;
    expect(signatureHeaders(signed, [secret])).toEqual({
      "webhook-id": signed.id,
      "webhook-timestamp": "1614265330",
      "webhook-signature": signature,
    });
  });

  it("is taken by whoever checks it, and one of anything else is not", async () => {
    const secret = newWebhookSecret();
    const signed = { id: "inc_1_opened", timestampS: 1_700_000_000, body: '{"a":"ü😀"}' };
    const headers = new Headers(signatureHeaders(signed, [secret]));
    expect(await verify(headers, signed.body, secret)).toBe(true);
    expect(await verify(headers, `${signed.body} `, secret)).toBe(false);
    expect(await verify(headers, signed.body, newWebhookSecret())).toBe(false);
    for (const [name, value] of [
      ["webhook-id", "inc_2_opened"],
      ["webhook-timestamp", "1700000001"],
    ] as const) {
      const other = new Headers(headers);
      other.set(name, value);
      expect(await verify(other, signed.body, secret)).toBe(false);
    }
  });

  it("of two secrets is taken with either", async () => {
    const [next, last] = [newWebhookSecret(), newWebhookSecret()];
    const signed = { id: "x", timestampS: 1, body: "{}" };
    const headers = new Headers(signatureHeaders(signed, [next, last]));
    expect(headers.get("webhook-signature")?.split(" ")).toHaveLength(2);
    expect([await verify(headers, "{}", next), await verify(headers, "{}", last)]).toEqual([true, true]);
    expect(await verify(headers, "{}", newWebhookSecret())).toBe(false);
  });
});

it("a secret is whsec_ and base64 of 32 bytes, another one each time", () => {
  const secrets = Array.from({ length: 50 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(50);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(atob(secret.slice(6))).toHaveLength(32);
  }
});
