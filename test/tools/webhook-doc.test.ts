/** Runs the code that docs/alerts.md gives to receivers. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { newWebhookSecret, signatureHeaders } from "../../src/operate/alerts/signature.ts";

type IsOurs = (headers: { [name: string]: string }, body: string, secret: string, nowS: number) => boolean;

async function documented(): Promise<IsOurs> {
  const text = readFileSync(join(import.meta.dirname, "../../docs/alerts.md"), "utf8");
  const code = /```js\n(.*?)```/s.exec(text)?.[1];
  if (code === undefined) throw new Error("there is no code in docs/alerts.md");
  const file = join(mkdtempSync(join(tmpdir(), "webhook-")), "check.mjs");
  writeFileSync(file, code);
  return ((await import(/* @vite-ignore */ pathToFileURL(file).href)) as { isOurs: IsOurs }).isOurs;
}

describe("the check in docs/alerts.md", () => {
  it("takes our calls, with either secret of a rotation, and nothing else", async () => {
    const isOurs = await documented();
    const [next, last, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const body = '{"type":"incident.opened","data":{"summary":"ü 😀"}}';
    const nowS = 1_795_177_860;
    const headers = signatureHeaders({ id: "inc_1_opened", timestampS: nowS, body }, [next, last]);
    expect([isOurs(headers, body, next, nowS), isOurs(headers, body, last, nowS + 299)]).toEqual([true, true]);
    expect(isOurs(headers, body, other, nowS)).toBe(false);
    expect(isOurs(headers, `${body} `, next, nowS)).toBe(false);
    expect(isOurs({ ...headers, "webhook-id": "inc_2_opened" }, body, next, nowS)).toBe(false);
    for (const late of [nowS + 301, nowS - 301]) expect(isOurs(headers, body, next, late)).toBe(false);
    expect(isOurs({ ...headers, "webhook-timestamp": "soon" }, body, next, nowS)).toBe(false);
    const { "webhook-signature": _signature, ...unsigned } = headers;
    for (const bare of [unsigned, {}]) expect(isOurs(bare, body, next, nowS)).toBe(false);
  });

  it("takes the published one", async () => {
    // Of standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts.
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const isOurs = await documented();
    expect(isOurs(headers, '{"test": 2432232314}', "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1_614_265_330)).toBe(true);
  });
});
