/** The parts of an upload that is not held, in pieces of any size. */
import { describe, expect, it } from "vitest";
import { readUpload } from "../../../src/state/functions/upload.ts";
import { BOUNDARY, FORM_TYPE, type FormPart, field, form, module } from "./forms.ts";

const METADATA = field({ main_module: "my-worker.js" });

/** @returns the fault of what goes on, and its bytes; each piece has this many bytes. */
async function sentOn(parts: readonly FormPart[], pieceBytes: number) {
  const bytes = form(parts);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + pieceBytes));
      at += pieceBytes;
    },
  });
  const request = new Request("http://logship.test/", { method: "PUT", body, headers: { "content-type": FORM_TYPE } });
  const read = await readUpload(request, bytes.length);
  if (!read.ok) return { fault: read.fault.messages[0], got: 0, owed: 0 };
  const { rest } = read.upload;
  let got = 0;
  try {
    for await (const piece of rest?.pieces ?? []) got += piece.length;
  } catch {
    // `fault` says why.
  }
  return { fault: rest?.fault(), got, owed: rest?.bytes };
}

const odd = (header: string): FormPart => ({ name: `x"\r\n${header}\r\nX-Rest: "`, content: "{}" });

describe.each([1, 2, 7, 64, 1_000_000])("in pieces of %i bytes", (size) => {
  it.each([
    ["a field", field({ logship: true })],
    ["a file", module("metadata", "{}")],
    ["a file of another part", { ...module("a.js"), filename: "metadata" }],
    ["without quotes", odd("Content-Disposition: form-data; name=metadata")],
    ["in other letters", odd('CONTENT-DISPOSITION: FORM-DATA; NAME = "METADATA"; x=y')],
    ["in two halves", odd('Content-Disposition: form-data; name*0="meta"; name*1="data"')],
    ["on the next line", odd('Content-Disposition: form-data; name=\r\n "metadata"')],
    ["encoded", odd("Content-Disposition: form-data; name*=UTF-8''metadata")],
  ])("another metadata is found: %s", async (_, second) => {
    const { fault, got, owed } = await sentOn([METADATA, module(), second as FormPart, module("b.js")], size);
    expect(fault).toBe('only the first part may be named "metadata", and no part\'s name may be encoded');
    expect(got).toBeLessThan(owed ?? 0);
  });

  it("a header that has no end is none", async () => {
    const long = module("x".repeat(9_000), "x".repeat(20_000));
    const { fault } = await sentOn([METADATA, module(), long], size);
    expect(fault).toBe("a part's header has more than 8192 bytes");
  });

  it("all else goes on to the byte", async () => {
    const words = `name="metadata"\r\n\r\n--${BOUNDARY.slice(1)}\r\nContent-Disposition: form-data; name="metadata"`;
    const parts = [
      METADATA,
      module(),
      module("metadata.js", words),
      module("my-metadata", words),
      module("metadata-2"),
      odd("Content-Disposition: form-data; name=a; filename*=UTF-8''%C3%A9.js"),
    ];
    const { fault, got, owed } = await sentOn(parts, size);
    expect([fault, got]).toEqual([null, owed]);
  });
});
