/**
 * Messages as releases wrote them, byte for byte: they may wait in a queue for fourteen days, and
 * set aside for years. A change of the code never changes these.
 */
import { describe, expect, it } from "vitest";
import { fromBase64 } from "../../src/bytes.ts";
import { decodeMessage } from "../../src/queue/message.ts";

const part = (n: number, records: number, keyed: boolean) => ({
  ...{ id: `${n}`.repeat(32), takenInMs: 1_795_177_800_000 + n, keyed, records },
});

describe("a message that is stored", () => {
  it.each([
    [
      "in version 1",
      "TFMBAhEREREREREREREREREREREAAAGh+O9hQQAAAAMAAAAbcComeXsiYSI6MX0KeyJiIjoiw6QifQp7ImMiOjN9Cg==",
      { parts: [part(1, 3, true)] },
    ],
    [
      "in version 2, of one part, with what earlier releases said of its records",
      "TFMCCCIiIiIiIiIiIiIiIiIiIiIAAAGh+O9hQgAAAIUAAAAgaDKEZgEAAAAdIiIiIiIiIiIiIiIiIiIiIgAAAaH472FCAAAAAwACAAAADAAAABvBJH1SJ6BB+QMAAAAQAAAAAAAAAAEAAAAAAAAAAgQAAAAQW1tbInNob3AiLDMsMl1dXQEAAAAbeyJhIjoxfQp7ImIiOiLDpCJ9CnsiYyI6M30K",
      {
        parts: [part(2, 3, false)],
      },
    ],
    [
      "in version 2, of two parts, with a block that is not known",
      "TFMCADMzMzMzMzMzMzMzMzMzMzMAAAGh+O9hQwAAAH4AAAAg07jFjAEAAAA6MzMzMzMzMzMzMzMzMzMzMwAAAaH472FDAAAAAQBEREREREREREREREREREREAAABofjvYUQAAAACAgIAAAAMAAAAG8EkfVInoEH5TQAAAAEBAQAAABt7ImEiOjF9CnsiYiI6IsOkIn0KeyJjIjozfQo=",
      { parts: [part(3, 1, false), part(4, 2, true)] },
    ],
    [
      "in version 2, of a repeated request",
      "TFMCAFVVVVVVVVVVVVVVVVVVVVUAAAGh+O9hRQAAAGgAAAAgaCnAbwEAAAAdVVVVVVVVVVVVVVVVVVVVVQAAAaH472FFAAAAAwACAAAADAAAABvBJH1SJ6BB+QUAAAAIAAABofPJBUUBAAAAG3siYSI6MX0KeyJiIjoiw6QifQp7ImMiOjN9Cg==",
      { parts: [{ ...part(5, 3, false), firstMs: 1_795_091_400_005 }] },
    ],
    [
      "in version 2, with extra fields",
      "TFMCAGZmZmZmZmZmZmZmZmZmZmYAAAGh+O9hRgAAAFsAAABXoKcXdAEAAAAdZmZmZmZmZmZmZmZmZmZmZgAAAaH472FGAAAAAwACAAAADAAAABvBJH1SrJ7SYwEAAAAbeyJhIjoxfQp7ImIiOiLDpCJ9CnsiYyI6M30KAgAAADIAAAAALXsiVHJ1bmNhdGVkIjp0cnVlfQoKeyJEdXJhYmxlT2JqZWN0SUQiOiJkMCJ9Cg==",
      { parts: [part(6, 3, false)], extras: ['{"Truncated":true}', "", '{"DurableObjectID":"d0"}'] },
    ],
  ])("%s is read", (_how, base64, expected) => {
    expect(decodeMessage(fromBase64(base64).buffer)).toEqual({
      ok: true,
      value: { ...expected, elsewhere: null, ascii: false, lines: ['{"a":1}', '{"b":"ä"}', '{"c":3}'] },
    });
  });
});
