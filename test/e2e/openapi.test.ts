/** The API description of a real `wrangler dev`, read by an independent validator. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, it } from "vitest";
import { IsolatedShipper } from "./shipper.ts";

describe("the description of the API", () => {
  it("is a valid OpenAPI 3.1 document, with a page beside it, even where settings are malformed", async ({
    expect,
  }) => {
    await using shipper = await IsolatedShipper.start();
    const sound = await (await fetch(`${shipper.url}/openapi.json`)).text();
    const validator = new Validator();
    expect(await validator.validate(JSON.parse(sound))).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
    await shipper.kill();
    await shipper.restart({ settings: { SECRETS_KEY: "malformed" } });
    const answer = await fetch(`${shipper.url}/openapi.json`);
    expect([answer.status, await answer.text()]).toEqual([200, sound]);
    for (const path of ["/openapi.json", "/docs"]) {
      const [get, head] = [await fetch(shipper.url + path), await fetch(shipper.url + path, { method: "HEAD" })];
      expect([path, get.status, head.status, await head.text()]).toEqual([path, 200, 200, ""]);
      const again = await fetch(shipper.url + path, { headers: { "if-none-match": get.headers.get("etag") ?? "" } });
      expect([path, again.status]).toEqual([path, 304]);
    }
  });

  it("would not be valid with an operation that says nothing of its answers", async ({ expect }) => {
    const broken = {
      openapi: "3.1.1",
      info: { title: "x", version: "1" },
      paths: { "/x": { get: { parameters: [{ name: "y" }] } } },
    };
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });
});
