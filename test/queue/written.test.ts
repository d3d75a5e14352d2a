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

describe("a message", () => {
  it.each([
    [
      "of one part",
      "TFMBAhEREREREREREREREREREREAAAGh+O9hQQAAAFsAAAAghl5BngEAAAAdEREREREREREREREREREREQAAAaH472FBAAAAAwICAAAADAAAABvBJH1SJ6BB+QEAAAAbeyJhIjoxfQp7ImIiOiLDpCJ9CnsiYyI6M30K",
      { parts: [part(1, 3, true)] },
    ],
    [
      "of two parts, with a block that is not known",
      "TFMBADMzMzMzMzMzMzMzMzMzMzMAAAGh+O9hQwAAAH4AAAAgu9rwjgEAAAA6MzMzMzMzMzMzMzMzMzMzMwAAAaH472FDAAAAAQBEREREREREREREREREREREAAABofjvYUQAAAACAgIAAAAMAAAAG8EkfVInoEH5TQAAAAEBAQAAABt7ImEiOjF9CnsiYiI6IsOkIn0KeyJjIjozfQo=",
      { parts: [part(3, 1, false), part(4, 2, true)] },
    ],
    [
      "of a repeated request",
      "TFMBAFVVVVVVVVVVVVVVVVVVVVUAAAGh+O9hRQAAAGgAAAAgd4KgSwEAAAAdVVVVVVVVVVVVVVVVVVVVVQAAAaH472FFAAAAAwACAAAADAAAABvBJH1SJ6BB+QMAAAAIAAABofPJBUUBAAAAG3siYSI6MX0KeyJiIjoiw6QifQp7ImMiOjN9Cg==",
      { parts: [{ ...part(5, 3, false), firstMs: 1_795_091_400_005 }] },
    ],
    [
      "with extra fields",
      "TFMBAGZmZmZmZmZmZmZmZmZmZmYAAAGh+O9hRgAAAFsAAABXvCVy9wEAAAAdZmZmZmZmZmZmZmZmZmZmZgAAAaH472FGAAAAAwACAAAADAAAABvBJH1SrJ7SYwEAAAAbeyJhIjoxfQp7ImIiOiLDpCJ9CnsiYyI6M30KAgAAADIAAAAALXsiVHJ1bmNhdGVkIjp0cnVlfQoKeyJEdXJhYmxlT2JqZWN0SUQiOiJkMCJ9Cg==",
      { parts: [part(6, 3, false)], extras: ['{"Truncated":true}', "", '{"DurableObjectID":"d0"}'] },
    ],
    [
      "that says where its parts came from",
      "TFMBAHd3d3d3d3d3d3d3d3d3d3cAAAGh+O9hRwAAAI8AAAAgv0G83wEAAAA6d3d3d3d3d3d3d3d3d3d3dwAAAaH472FHAAAAAQCIiIiIiIiIiIiIiIiIiIiIAAABofjvYUgAAAACAAIAAAAMAAAAG8EkfVInoEH5BAAAABICAAR0YWlsAAdodHRwOmNpAQIBAAAAG3siYSI6MX0KeyJiIjoiw6QifQp7ImMiOjN9Cg==",
      {
        parts: [
          { ...part(7, 1, false), source: "tail" },
          { ...part(8, 2, false), source: "http:ci" },
        ],
      },
    ],
  ])("%s is read", (_how, base64, expected) => {
    expect(decodeMessage(fromBase64(base64).buffer)).toEqual({
      ok: true,
      value: { ...expected, elsewhere: null, ascii: false, lines: ['{"a":1}', '{"b":"ä"}', '{"c":3}'] },
    });
  });
});
