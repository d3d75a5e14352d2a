/**
 * Messages as releases wrote them, byte for byte: they may wait in a queue for fourteen days, and
 * set aside for years. A change of the code never changes these.
 */
import { describe, expect, it } from "vitest";
import { encodeUtf8, fromBase64 } from "../../../src/base/bytes.ts";
import { macKeyOf } from "../../../src/formats/queue/mac.ts";
import { readMessage } from "../../support/read-message.ts";

const part = (n: number, records: number, keyed: boolean) => ({
  ...{ id: `${n}`.repeat(32), takenInMs: 1_795_177_800_000 + n, keyed, shards: 1, records },
});

describe("a message", () => {
  it.each([
    [
      "of one part, with 64 shards",
      "TFMBYhEREREREREREREREREREREAAAGh+O9hQQAAAFsAAAAgFhnH/gEAAAAdEREREREREREREREREREREQAAAaH472FBAAAAA2ICAAAADAAAABvBJH1SJ6BB+QEAAAAbeyJhIjoxfQp7ImIiOiLDpCJ9CnsiYyI6M30K",
      { parts: [{ ...part(1, 3, true), shards: 64 }] },
    ],
    [
      "of two parts, with a block that is not known",
      "TFMBADMzMzMzMzMzMzMzMzMzMzMAAAGh+O9hQwAAAH4AAAAgu9rwjgEAAAA6MzMzMzMzMzMzMzMzMzMzMwAAAaH472FDAAAAAQBEREREREREREREREREREREAAABofjvYUQAAAACAgIAAAAMAAAAG8EkfVInoEH5TQAAAAEBAQAAABt7ImEiOjF9CnsiYiI6IsOkIn0KeyJjIjozfQo=",
      { parts: [part(3, 1, false), part(4, 2, true)] },
    ],
    [
      "with extra fields",
      "TFMBAGZmZmZmZmZmZmZmZmZmZmYAAAGh+O9hRgAAAFsAAABXvCVy9wEAAAAdZmZmZmZmZmZmZmZmZmZmZgAAAaH472FGAAAAAwACAAAADAAAABvBJH1SrJ7SYwEAAAAbeyJhIjoxfQp7ImIiOiLDpCJ9CnsiYyI6M30KAgAAADIAAAAALXsiVHJ1bmNhdGVkIjp0cnVlfQoKeyJEdXJhYmxlT2JqZWN0SUQiOiJkMCJ9Cg==",
      { parts: [part(6, 3, false)], extras: ['{"Truncated":true}', "", '{"DurableObjectID":"d0"}'] },
    ],
    [
      "that says where its parts came from",
      "TFMBAHd3d3d3d3d3d3d3d3d3d3cAAAGh+O9hRwAAAI8AAAAgyfgkcQEAAAA6d3d3d3d3d3d3d3d3d3d3dwAAAaH472FHAAAAAQCIiIiIiIiIiIiIiIiIiIiIAAABofjvYUgAAAACAAIAAAAMAAAAG8EkfVInoEH5AwAAABICAAR0YWlsAAdodHRwOmNpAQIBAAAAG3siYSI6MX0KeyJiIjoiw6QifQp7ImMiOjN9Cg==",
      {
        parts: [
          { ...part(7, 1, false), source: "tail" },
          { ...part(8, 2, false), source: "http:ci" },
        ],
      },
    ],
  ])("%s is read", (_how, base64, expected) => {
    expect(readMessage(fromBase64(base64).buffer)).toEqual({
      ok: true,
      value: { ...expected, lines: ['{"a":1}', '{"b":"ä"}', '{"c":3}'] },
    });
  });

  it("that objects can take over is read, by its seal, as it is deflated", () => {
    const base64 =
      "TFMBBZmZmZmZmZmZmZmZmZmZmZkAAAGh+O9hSQAAAHAAAAAmv34cvwEAAAAdmZmZmZmZmZmZmZmZmZmZmQAAAaH472FJAAAAAwACAAAADAAAABvBJH1S3rGA5QQAAAAQfZbxJOAcA/zTS/DdSOLT2wEAAAAhqlZKVLIyrOWqVkpSslI6vEQJxExWsjKu5QIAAAD//wMA";
    const lines = ['{"a":1}', '{"b":"ä"}', '{"c":3}'];
    const value = { parts: [part(9, 3, false)], lines };
    const { buffer } = fromBase64(base64);
    expect(readMessage(buffer)).toEqual({ ok: true, value });
    const deflated = fromBase64("qlZKVLIyrOWqVkpSslI6vEQJxExWsjKu5QIAAAD//w==");
    const takeover = { deflated, raw: encodeUtf8(`${lines.join("\n")}\n`), crc: 0xc1247d52 };
    const keys = [macKeyOf(new Uint8Array(32))];
    expect(readMessage(buffer, keys)).toEqual({ ok: true, value: { ...value, isAuthentic: true, takeover } });
  });
});
