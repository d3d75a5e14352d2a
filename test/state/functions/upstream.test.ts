import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { attached, type Consumer, detached } from "../../../src/state/functions/tail-consumers.ts";
import { readUpload } from "../../../src/state/functions/upload.ts";
import { uploadForm } from "../../../src/state/functions/upload-form.ts";
import { scriptUrl } from "../../../src/state/functions/upstream.ts";

const UPSTREAM = { base: "https://api.platform.test/client/v4", selfName: "logship" };
const BELOW = "/client/v4/accounts/acme/workers/scripts/";

describe("the address of a script at the platform", () => {
  const name = fc
    .string({ unit: "binary", minLength: 1, maxLength: 40 })
    .filter((text) => text.isWellFormed() && text !== "." && text !== "..");

  it("leads to this script and nowhere else, whatever it is called", () => {
    fc.assert(
      fc.property(
        fc.oneof(name, fc.constantFrom("../..", "..%2F", "%2e%2e", "a?b", "a#b", "//evil", "\\..\\")),
        (text) => {
          const { origin, pathname, search, hash } = new URL(scriptUrl(UPSTREAM, "acme", [text, "script-settings"]));
          expect([origin, search, hash]).toEqual(["https://api.platform.test", "", ""]);
          expect(pathname.startsWith(BELOW)).toBe(true);
          const [encoded = "", ...rest] = pathname.slice(BELOW.length).split("/");
          expect([decodeURIComponent(encoded), rest]).toEqual([text, ["script-settings"]]);
        },
      ),
    );
  });

  it.each(["", ".", ".."])("is none for a segment that an address cannot carry: %j", (segment) => {
    expect(() => scriptUrl(UPSTREAM, "acme", [segment])).toThrow();
  });
});

it("a form that goes on is read as the upload it was", async () => {
  const moduleName = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
    .filter((text) => !/[\p{Cc}"\\]/u.test(text) && text.isWellFormed());
  const modules = fc.uniqueArray(
    fc.record({
      name: moduleName,
      type: fc.constantFrom("application/javascript+module", "text/plain", "application/wasm"),
      bytes: fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.constantFrom("\r\n", "\r\n--", "--b\r\n").map(encodeUtf8)),
    }),
    { minLength: 1, maxLength: 5, selector: (each) => each.name },
  );
  await fc.assert(
    fc.asyncProperty(modules, fc.jsonValue({ maxDepth: 5 }), async (sent, more) => {
      const mainModule = sent[0]?.name ?? "";
      const metadata = JSON.parse(JSON.stringify({ main_module: mainModule, more })) as Record<string, unknown>;
      const { contentType, bytes } = uploadForm(metadata, { modules: sent }, `logship-${crypto.randomUUID()}`);
      const request = new Request("http://logship.test/", {
        method: "PUT",
        headers: { "content-type": contentType },
        body: bytes,
      });
      expect(await readUpload(request)).toEqual({
        ok: true,
        upload: { metadata, mainModule, ships: false, modules: sent },
      });
    }),
  );
});

it("attaching and detaching leave every other consumer as it was, in its order, and may be repeated", () => {
  const consumer = fc.record(
    {
      service: fc.constantFrom("logship", "audit", "Logship"),
      environment: fc.constantFrom("staging", "", null),
      x: fc.nat(),
    },
    { requiredKeys: ["service"] },
  );
  fc.assert(
    fc.property(fc.array(consumer, { maxLength: 8 }), (list: Consumer[]) => {
      const [on, off] = [attached(list, "logship"), detached(list, "logship")];
      const isSelf = (each: Consumer): boolean => each.service === "logship" && each.environment !== "staging";
      expect(off).toEqual(list.filter((each) => !isSelf(each)));
      expect(on.filter((each) => !isSelf(each))).toEqual(off);
      expect(on.filter(isSelf)).toEqual([list.find(isSelf) ?? { service: "logship" }]);
      expect([attached(on, "logship"), detached(off, "logship"), detached(on, "logship")]).toEqual([on, off, off]);
    }),
  );
});
