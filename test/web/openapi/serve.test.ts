import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { createApp, GROUPS, IDENTITY } from "../../../src/web/app.ts";
import { openApiDocument } from "../../../src/web/openapi/document.ts";
import { STYLE_HASH } from "../../../src/web/openapi/page/page.tsx";
import { ACCESS_KEY, ACCOUNT, ADMIN_TOKEN, SECRET_KEY } from "../../support/constants.ts";

const app = createApp(platform);

const ask = async (path: string, init: RequestInit = {}, bindings: object = env): Promise<Response> =>
  app.request(`http://logship.test${path}`, init, bindings as unknown as Env);

const PLACES = ["/openapi.json", "/docs"] as const;

describe.each(PLACES)("%s", (path) => {
  it("is served without credentials, and whatever becomes of wrong ones", async () => {
    const answer = await ask(path);
    expect(answer.status).toBe(200);
    const text = await answer.text();
    const wrong = await ask(path, { headers: { authorization: "Bearer nobody" } });
    expect([wrong.status, await wrong.text()]).toEqual([200, text]);
  });

  it("says the same without any setting, and nothing of the settings that there are", async () => {
    const fresh = createApp(platform);
    const bare = await fresh.request(`http://elsewhere.test${path}`, {}, {} as unknown as Env);
    const text = await bare.text();
    expect([bare.status, text]).toEqual([200, await (await ask(path)).text()]);
    for (const said of [ACCOUNT, ADMIN_TOKEN, ACCESS_KEY, SECRET_KEY, "logship.test", "127.0.0.1"])
      expect(text).not.toContain(said);
  });

  it("answers HEAD with the same headers and no body", async () => {
    const [get, head] = [await ask(path), await ask(path, { method: "HEAD" })];
    expect([head.status, await head.text()]).toEqual([200, ""]);
    // Except the request id.
    const ofPage = ({ headers }: Response) => [...headers].filter(([name]) => name !== "x-request-id");
    expect([...head.headers].length).toBe(ofPage(head).length + 1);
    expect(ofPage(head)).toEqual(ofPage(get));
  });

  it("is not sent again to whoever has it", async () => {
    const etag = (await ask(path)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const answer = await ask(path, { headers: { "if-none-match": known } });
      expect([known, answer.status, await answer.text(), answer.headers.get("etag")]).toEqual([known, 304, "", etag]);
    }
    for (const other of ['"other"', etag.slice(1, -1), ""])
      expect((await ask(path, { headers: { "if-none-match": other } })).status).toBe(200);
  });

  it("may be kept for a while by anybody, is what it says it is, and lets in nothing", async () => {
    const { headers } = await ask(path);
    const isPage = path === "/docs";
    expect(headers.get("content-type")).toBe(`${isPage ? "text/html" : "application/json"}; charset=utf-8`);
    expect(headers.get("cache-control")).toBe("public, max-age=300");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("set-cookie")).toBeNull();
    const style = isPage ? `style-src '${STYLE_HASH}'; script-src 'self'; ` : "";
    expect(headers.get("content-security-policy")).toBe(
      `default-src 'none'; ${style}base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
  });

  it.each(["POST", "PUT", "PATCH", "DELETE"])("takes no %s", async (method) => {
    const answer = await ask(path, { method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(await answer.json()).toMatchObject({ success: false, errors: [{ code: 7001 }] });
  });
});

it("/openapi.json is the document", async () => {
  const answer = await ask("/openapi.json");
  expect(await answer.text()).toBe(JSON.stringify(openApiDocument(GROUPS, IDENTITY)));
});

it.each(["/openapi.json/", "/docs/", "/openapi.yaml"])("nothing is at %s", async (path) => {
  expect((await ask(path)).status).toBe(404);
});
