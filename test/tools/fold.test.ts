import fc from "fast-check";
import { it } from "vitest";
import { foldObjects } from "../../tools/fold.ts";

function folded(pieces: readonly string[]): string {
  let shown = "";
  const take = foldObjects((text) => {
    shown += text;
  });
  for (const piece of pieces) take(piece);
  return shown;
}

const OBJECT = "{\n  message: 'request',\n  caller: { kind: 'admin' },\n  errors: [\n    7003\n  ]\n}\n";
const FOLDED = "{ message: 'request', caller: { kind: 'admin' }, errors: [ 7003 ] }\n";

it.for<[what: string, printed: string, shown: string]>([
  ["an object", OBJECT, FOLDED],
  ["what stands around it", `ready\n\n${OBJECT}visited /\n  indented\n`, `ready\n\n${FOLDED}visited /\n  indented\n`],
  ["two of them", OBJECT + OBJECT, FOLDED + FOLDED],
  [
    "an object that another line breaks",
    "{\n  message: 'request',\nvisited /\n}\n",
    "{\n  message: 'request',\nvisited /\n}\n",
  ],
  ["a brace that nothing closes", `{\n${"  a\n".repeat(500)}`, `{\n${"  a\n".repeat(500)}`],
])("shows %s", ([, printed, shown], { expect }) => {
  expect(folded([printed])).toBe(shown);
});

it("shows the same whatever pieces it comes in", ({ expect }) => {
  fc.assert(
    fc.property(fc.array(fc.nat(200), { maxLength: 20 }), (cuts) => {
      const text = `ready\n${OBJECT}visited /\n${OBJECT}`;
      const at = [0, ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b), text.length];
      expect(folded(at.slice(1).map((end, i) => text.slice(at[i], end)))).toBe(`ready\n${FOLDED}visited /\n${FOLDED}`);
    }),
  );
});
