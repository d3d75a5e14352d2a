import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { readUpload } from "../../../src/state/functions/upload.ts";
import { BOUNDARY, FORM_TYPE, field, form, module } from "./forms.ts";

const read = (body: Uint8Array) =>
  readUpload(
    new Request("http://logship.test/", {
      method: "PUT",
      headers: { "content-type": FORM_TYPE },
      body: body as Uint8Array<ArrayBuffer>,
    }),
  );

const name = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
  .filter((text) => !/[\p{Cc}"\\]/u.test(text) && text.isWellFormed());
const bytes = fc.uint8Array({ maxLength: 200 });
/** Bytes that look like the ends of lines, parts and forms. */
const tricky = fc
  .array(fc.constantFrom("\r", "\n", "-", "--", "\r\n", "\r\n-", "\r\n--", BOUNDARY.slice(0, -1), "x", "\0"), {
    maxLength: 12,
  })
  .map((parts) => encodeUtf8(parts.join("")));

it("comes out as it went in, whatever its modules hold and are called", async () => {
  const modules = fc.uniqueArray(fc.record({ name, content: fc.oneof(bytes, tricky) }), {
    minLength: 1,
    maxLength: 6,
    selector: (each) => each.name,
  });
  await fc.assert(
    fc.asyncProperty(modules, fc.boolean(), fc.nat(5), async (sent, logship, at) => {
      const main = sent[at % sent.length]?.name ?? "";
      const parts = sent.map((each) => module(each.name, each.content));
      const answer = await read(form([field({ main_module: main, logship }), ...parts]));
      expect(answer).toEqual({
        ok: true,
        upload: {
          metadata: { main_module: main, logship },
          mainModule: main,
          ships: logship,
          modules: sent.map((each) => ({
            name: each.name,
            type: "application/javascript+module",
            bytes: each.content,
          })),
        },
      });
    }),
    { numRuns: 300 },
  );
});

it("is refused with words, and nothing worse, whatever was done to it on the way", async () => {
  const whole = form([field({ main_module: "my-worker.js", logship: true }), module()]);
  const damage = fc.record({ at: fc.nat(whole.length), drop: fc.nat(60), put: fc.oneof(bytes, tricky) });
  await fc.assert(
    fc.asyncProperty(damage, async ({ at, drop, put }) => {
      const damaged = Uint8Array.from([...whole.slice(0, at), ...put, ...whole.slice(at + drop)]);
      const answer = await read(damaged);
      if (answer.ok) expect(answer.upload.modules.map((each) => each.name)).toContain(answer.upload.mainModule);
      else expect([answer.fault.status, answer.fault.messages.length > 0]).toEqual([400, true]);
    }),
    { numRuns: 500 },
  );
});
