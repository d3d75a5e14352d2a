import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { type MacKey, macKeyOf } from "../../../src/formats/queue/mac.ts";
import { encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { type ReadMessage, readMessage } from "../../support/read-message.ts";
import { noise, TAKEN } from "../record/samples.ts";

const OURS = macKeyOf(new Uint8Array(32).fill(1));
const OTHERS = macKeyOf(new Uint8Array(32).fill(2));

const LINES = Array.from({ length: 40 }, (_, i) => JSON.stringify({ a: noise(5_000, i) }));
const PART: Part = { id: "ab".repeat(16), takenInMs: TAKEN, keyed: false, shards: 1, records: LINES.length };

const ndjson = (lines: readonly string[]): Uint8Array => encodeUtf8(lines.map((line) => `${line}\n`).join(""));
const large = (seal?: MacKey) => encodeParts([PART], ndjson(LINES), {}, seal);

function read(body: Uint8Array<ArrayBuffer>, keys = [OURS]): ReadMessage {
  const decoded = readMessage(body.buffer, keys);
  if (!decoded.ok) throw new Error(decoded.why);
  return decoded.value;
}

describe("a seal", () => {
  const sealed = large(OURS);

  it("says that intake wrote the records", () => {
    expect(read(sealed)).toMatchObject({ isAuthentic: true, lines: LINES });
  });

  it("of a key that was rotated away, or none, says nothing, and the records are there", () => {
    for (const message of [read(sealed, [OTHERS]), read(sealed, []), read(large())]) {
      expect(message.lines).toEqual(LINES);
      expect(message).not.toHaveProperty("isAuthentic");
    }
    expect(read(sealed, [OTHERS, OURS]).isAuthentic).toBe(true);
  });

  it("is that of no other body", () => {
    const [other, ours] = [
      encodeParts([PART], ndjson([...LINES.slice(1), '{"a":1}']), {}, OTHERS),
      encodeParts([PART], ndjson(LINES), {}, OURS),
    ];
    const headOf = (message: Uint8Array<ArrayBuffer>) => new DataView(message.buffer).getUint32(28);
    const joined = concat([other.subarray(0, headOf(other)), ours.subarray(headOf(ours))]);
    // Its head names the checksum of another body.
    expect(readMessage(joined.buffer, [OURS, OTHERS]).ok).toBe(false);
    expect(read(other)).not.toHaveProperty("isAuthentic");
  });
});
