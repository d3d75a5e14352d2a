/** Snippets parse as the formats they are written in. */
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  attachJsonc,
  attachPreviewsJsonc,
  attachToml,
  bindingJsonc,
  eventsCurl,
  FRAMEWORKS,
  uploadCurl,
} from "../../../src/web/dashboard/pages/functions/snippets.ts";
import { wordsOf } from "../openapi/shell.ts";

const names = fc.string({ minLength: 1, maxLength: 40 });

it("a project file in JSON names this service, whatever it is called", () => {
  fc.assert(
    fc.property(names, (name) => {
      expect(JSON.parse(`{${attachJsonc(name)}}`)).toEqual({ tail_consumers: [{ service: name }] });
      expect(JSON.parse(`{${attachPreviewsJsonc(name)}}`)).toEqual({
        previews: { tail_consumers: [{ service: name }] },
      });
      expect(JSON.parse(`{${bindingJsonc(name)}}`)).toEqual({
        services: [{ binding: "LOGSHIP", service: name, entrypoint: "Shipper" }],
      });
      const [head, ...rest] = attachToml(name).split("\n");
      expect([head, JSON.parse(rest.join("\n").replace("service = ", ""))]).toEqual(["[[tail_consumers]]", name]);
    }),
  );
});

it("a command line asks for this very address, whatever stands in it", () => {
  // In the form of `new URL().origin` and of account ids.
  const origin = fc.webUrl().map((url) => new URL(url).origin);
  const account = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
  fc.assert(
    fc.property(origin, account, (at, id) => {
      const upload = wordsOf(uploadCurl(at, id), { TOKEN: "secret" });
      expect(upload).toContain(`${at}/client/v4/accounts/${id}/functions/scripts/shop`);
      expect(upload).toContain("Authorization: Bearer secret");
      const now = eventsCurl(at, id).replace("'$(date +%s)'", "1795176000");
      const events = wordsOf(now, { TOKEN: "secret" });
      expect(events).toContain(`${at}/client/v4/accounts/${id}/logship/datasets/functions_trace_events/events`);
      expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ scriptName: "shop", eventTimestamp: 1_795_176_000_000 });
    }),
  );
});

it("the documentation names each framework, with its snippet", async () => {
  const text = (await import("../../../docs/attach.md?raw")).default as string;
  for (const { name, snippet } of FRAMEWORKS) {
    expect(text).toContain(`| ${name} |`);
    if (snippet !== undefined) expect(text).toContain(`\`${snippet("logship")}\``);
  }
});
