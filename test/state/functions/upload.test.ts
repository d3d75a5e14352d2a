import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { UPLOAD_MAX_BYTES } from "../../../src/base/limits.ts";
import { readUpload, type UploadFault } from "../../../src/state/functions/upload.ts";
import { BOUNDARY, curlForm, FORM_TYPE, type FormPart, field, form, module, WORKER } from "./forms.ts";

const METADATA = { main_module: "my-worker.js", logship: true };

const read = (body: BodyInit | null, headers: Record<string, string> = { "content-type": FORM_TYPE }) =>
  readUpload(new Request("http://logship.test/", { method: "PUT", headers, body }));

async function faultOf(
  body: BodyInit | null,
  headers?: Record<string, string>,
): Promise<[status: number, ...messages: string[]]> {
  const answer = await read(body, headers);
  if (answer.ok) throw new Error("the upload was read");
  const { status, messages }: UploadFault = answer.fault;
  return [status, ...messages];
}

const bytesOf = (parts: readonly FormPart[]): Uint8Array<ArrayBuffer> => form(parts) as Uint8Array<ArrayBuffer>;

describe("an upload", () => {
  it("is read as curl sends the line of the documentation", async () => {
    expect(await read(curlForm() as Uint8Array<ArrayBuffer>)).toEqual({
      ok: true,
      upload: {
        metadata: METADATA,
        mainModule: "my-worker.js",
        ships: true,
        modules: [{ name: "my-worker.js", type: "application/javascript+module", bytes: encodeUtf8(WORKER) }],
      },
    });
  });

  const text = JSON.stringify(METADATA);
  const ways: [what: string, metadata: FormPart][] = [
    ["-F metadata='{…}'", field(text)],
    ["-F metadata='{…};type=application/json'", field(text, "application/json")],
    [
      "-F metadata=@metadata.json",
      { name: "metadata", filename: "metadata.json", type: "application/octet-stream", content: text },
    ],
    [
      "-F 'metadata=@metadata.json;type=application/json'",
      { name: "metadata", filename: "metadata.json", type: "application/json", content: text },
    ],
    ["with a byte order mark in a file", { name: "metadata", filename: "m", content: `\ufeff${text}` }],
  ];

  it.each(ways)("may have its metadata %s, before the modules or after them", async (_what, metadata) => {
    const before = await read(bytesOf([metadata, module()]));
    expect(before).toMatchObject({ ok: true, upload: { metadata: METADATA, ships: true } });
    expect(await read(bytesOf([module(), metadata]))).toEqual(before);
  });

  it("keeps the bytes, types and order of its modules, and whatever else its metadata says", async () => {
    const wasm = Uint8Array.from({ length: 512 }, (_, i) => i);
    const metadata = {
      ...METADATA,
      bindings: [{ type: "plain_text", name: "A", text: "\u{1f600}" }],
      x: { y: [null] },
    };
    const modules = [
      module(),
      module("lib/add.wasm", wasm, "application/wasm"),
      module("läden.txt", "\r\n--\r\n", 'Text/Plain; charset="utf-8"'),
      module("empty.bin", "", "application/octet-stream"),
    ];
    const answer = await read(bytesOf([field(metadata), ...modules]));
    expect(answer).toEqual({
      ok: true,
      upload: {
        metadata,
        mainModule: "my-worker.js",
        ships: true,
        modules: [
          { name: "my-worker.js", type: "application/javascript+module", bytes: encodeUtf8(WORKER) },
          { name: "lib/add.wasm", type: "application/wasm", bytes: wasm },
          { name: "läden.txt", type: "text/plain", bytes: encodeUtf8("\r\n--\r\n") },
          { name: "empty.bin", type: "application/octet-stream", bytes: new Uint8Array() },
        ],
      },
    });
  });

  it("names a module by its filename, and by its part only if main_module means that", async () => {
    const named = async (main: string): Promise<string[] | null> => {
      const parts = [
        field({ main_module: main }),
        { ...module("a.js"), name: "files[0]" },
        { ...module("b.js"), name: "main.js" },
      ];
      const answer = await read(bytesOf(parts));
      return answer.ok ? answer.upload.modules.map(({ name }) => name) : null;
    };
    expect(await named("a.js")).toEqual(["a.js", "b.js"]);
    expect(await named("main.js")).toEqual(["files[0]", "main.js"]);
    expect(await named("c.js")).toBeNull();
  });

  it.each([
    [{}, false],
    [{ logship: true }, true],
    [{ logship: false }, false],
    [{ logpush: true }, true],
    [{ logpush: false }, false],
  ])("ships if its metadata says so, by either name: %j", async (said, ships) => {
    const answer = await read(curlForm({ main_module: "my-worker.js", ...said }) as Uint8Array<ArrayBuffer>);
    expect(answer).toMatchObject({ ok: true, upload: { ships } });
  });

  it("may come compressed, in a form with a quoted boundary, and as the runtime itself writes one", async () => {
    const headers = {
      "content-type": `Multipart/Form-Data; charset=utf-8; Boundary="${BOUNDARY}"`,
      "content-encoding": "gzip",
    };
    expect((await read(gzipSync(curlForm()) as Uint8Array<ArrayBuffer>, headers)).ok).toBe(true);
    const own = new FormData();
    own.set("metadata", new File([JSON.stringify(METADATA)], "blob", { type: "application/json" }));
    own.set("my-worker.js", new File([WORKER], "my-worker.js", { type: "application/javascript+module" }));
    expect(await readUpload(new Request("http://logship.test/", { method: "PUT", body: own }))).toEqual(
      await read(curlForm() as Uint8Array<ArrayBuffer>),
    );
  });

  it("keeps names that mean something to JavaScript as names", async () => {
    const metadata = '{"main_module":"__proto__","__proto__":{"logship":true},"constructor":1}';
    const answer = await read(bytesOf([field(metadata), module("__proto__"), module("constructor")]));
    if (!answer.ok) throw new Error(answer.fault.messages.join());
    expect(answer.upload.modules.map(({ name }) => name)).toEqual(["__proto__", "constructor"]);
    expect([answer.upload.ships, JSON.stringify(answer.upload.metadata)]).toEqual([false, metadata]);
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });
});

describe("an upload is refused, and told why,", () => {
  const MALFORMED =
    "the multipart form cannot be read: each part needs Content-Disposition: form-data with a quoted name, and the last is followed by --<boundary>--";
  const raw = (header: string, body = "x"): string =>
    `--${BOUNDARY}\r\n${header}\r\n\r\n${body}\r\n--${BOUNDARY}--\r\n`;

  const types: [type: string | null, ...expected: [status: number, message: string]][] = [
    [null, 400, "there is no multipart form: Content-Type is missing"],
    ["application/json", 415, "Content-Type must be multipart/form-data"],
    ["multipart/mixed; boundary=x", 415, "Content-Type must be multipart/form-data"],
    ["multipart/form-data", 400, "Content-Type: multipart/form-data needs one boundary"],
    ["multipart/form-data; boundary=", 400, "Content-Type: multipart/form-data needs one boundary"],
    ['multipart/form-data; boundary="a\\"', 400, "Content-Type: multipart/form-data needs one boundary"],
    ["multipart/form-data; boundary=a; boundary=b", 400, "Content-Type: multipart/form-data needs one boundary"],
    [`multipart/form-data; boundary=${"b".repeat(71)}`, 400, "Content-Type: multipart/form-data needs one boundary"],
    ["multipart/form-data; boundary=other", 400, MALFORMED],
  ];
  it.each(types)("for its Content-Type: %s", async (type, ...expected) => {
    expect(await faultOf(curlForm() as Uint8Array<ArrayBuffer>, type === null ? {} : { "content-type": type })).toEqual(
      expected,
    );
  });

  const forms: [what: string, body: string | Uint8Array, ...messages: string[]][] = [
    ["without anything", "", "there is no multipart form: the body is empty"],
    ["that is no form", "metadata={}", MALFORMED],
    ["without an end", form([field(METADATA), module()], BOUNDARY, ""), MALFORMED],
    ["that breaks off in a header", `--${BOUNDARY}\r\nContent-Dispo`, MALFORMED],
    ["with a part without a header", raw("Content-Type: text/plain"), MALFORMED],
    ["with a part without a name", raw('Content-Disposition: form-data; filename="a"'), MALFORMED],
    ["with a zero byte in a name", raw('Content-Disposition: form-data; name="a\0b"'), MALFORMED],
    ["with a megabyte of parameters", raw(`Content-Disposition: form-data; ${"a=b; ".repeat(200_000)}`), MALFORMED],
    [
      "without parts",
      form([]),
      'there is no part named "metadata"',
      "there is no file part: each module is one, named by its filename",
    ],
    ["without metadata", form([module()]), 'there is no part named "metadata"'],
    ["without a module", form([field(METADATA)]), 'metadata.main_module: there is no file part named "my-worker.js"'],
    [
      "without either",
      form([{ ...field("x"), name: "other" }]),
      'the part "other" is neither metadata nor a file: a module needs a filename',
      'there is no part named "metadata"',
      "there is no file part: each module is one, named by its filename",
    ],
    [
      "with a main_module that is no part",
      form([field({ main_module: "index.js" }), module()]),
      'metadata.main_module: there is no file part named "index.js"',
    ],
    [
      "with a module that is a field",
      form([field(METADATA), { name: "my-worker.js", content: WORKER }]),
      'the part "my-worker.js" is neither metadata nor a file: a module needs a filename',
      'metadata.main_module: there is no file part named "my-worker.js"',
    ],
    [
      "with a module that would go on as a second metadata",
      form([
        field(METADATA),
        module(),
        { name: "x", filename: "metadata", type: "application/json", content: JSON.stringify(METADATA) },
      ]),
      'a module cannot be named "metadata"',
    ],
    ["with two metadata", form([field(METADATA), field(METADATA), module()]), 'two parts are named "metadata"'],
    ["with two of one name", form([field(METADATA), module(), module()]), 'two file parts are named "my-worker.js"'],
    [
      "with metadata that is no JSON",
      form([field("{"), module()]),
      "metadata: not JSON: it ends too early, at line 1, column 2 (byte 1)",
    ],
    ["with empty metadata", form([field(""), module()]), "metadata: not JSON: it is empty"],
    ["with a list", form([field([]), module()]), "metadata: must be a JSON object"],
    ["with null", form([field("null"), module()]), "metadata: must be a JSON object"],
    [
      "with bytes that are no UTF-8",
      form([{ name: "metadata", filename: "m.json", content: new Uint8Array([0x7b, 0xff, 0x7d]) }, module()]),
      "metadata: not valid UTF-8",
    ],
    [
      "with metadata of more than a mebibyte",
      form([field({ ...METADATA, x: "x".repeat(1024 * 1024) }), module()]),
      "metadata: larger than 1048576 bytes",
    ],
    [
      "with metadata nested a hundred thousand times",
      form([field(`{"main_module":"my-worker.js","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`), module()]),
      "metadata: nested too deeply: at most 100 levels",
    ],
    [
      "with a long name",
      form([field(METADATA), module(), module("n".repeat(1_025))]),
      `the file part "${"n".repeat(64)}": a name has at most 1024 characters, and neither quotes, backslashes nor control characters`,
    ],
    [
      "with a quote in a name",
      form([field(METADATA), module(), module('a\\"b')]),
      'the file part "a\\"b": a name has at most 1024 characters, and neither quotes, backslashes nor control characters',
    ],
    [
      "with a type that is none",
      form([field(METADATA), { ...module(), type: "java script" }]),
      'the file part "my-worker.js": its Content-Type is not a media type',
    ],
    [
      "with everything at once",
      form([field({ logship: "yes", logpush: 1, tail_consumers: {} }), module("a"), module("a")]),
      "metadata.main_module: is missing",
      expect.stringMatching(/^metadata\.logship: .*boolean/),
      expect.stringMatching(/^metadata\.logpush: .*boolean/),
      expect.stringMatching(/^metadata\.tail_consumers: .*array/),
      "metadata.logpush: is another name of logship; send only one of them",
      'two file parts are named "a"',
    ],
  ];
  it.each(forms)("%s", async (_what, body, ...messages) => {
    expect(await faultOf(body as string | Uint8Array<ArrayBuffer>)).toEqual([400, ...messages]);
  });

  it.each([
    ["null", null],
    ["a string", "true"],
    ["a number", 1],
  ])("with logship that is no boolean: %s", async (_what, logship) => {
    for (const name of ["logship", "logpush"])
      expect(
        await faultOf(curlForm({ main_module: "my-worker.js", [name]: logship }) as Uint8Array<ArrayBuffer>),
      ).toEqual([400, expect.stringMatching(new RegExp(`^metadata\\.${name}: .*boolean`))]);
  });

  it("with one part more than a thousand; a thousand are read", async () => {
    const many = (n: number): Uint8Array<ArrayBuffer> =>
      bytesOf([field(METADATA), module(), ...Array.from({ length: n - 2 }, (_, i) => module(`m${i}`, "x"))]);
    expect(await read(many(1_000))).toMatchObject({ ok: true });
    expect(await faultOf(many(1_001))).toEqual([400, "the form has more than 1000 parts"]);
    expect(await faultOf(many(50_000))).toEqual([400, "the form has more than 1000 parts"]);
  });

  it("with one byte more than 10 MiB, however it comes; 10 MiB are read", async () => {
    const rest = bytesOf([field(METADATA), module(), module("big", "")]).length;
    const big = (bytes: number): Uint8Array<ArrayBuffer> =>
      bytesOf([field(METADATA), module(), module("big", new Uint8Array(bytes - rest))]);
    expect(await read(big(UPLOAD_MAX_BYTES))).toMatchObject({ ok: true });
    const tooLarge = [413, `the body is larger than ${UPLOAD_MAX_BYTES} bytes`];
    expect(await faultOf(big(UPLOAD_MAX_BYTES + 1))).toEqual(tooLarge);
    const bomb = gzipSync(big(UPLOAD_MAX_BYTES + 1)) as Uint8Array<ArrayBuffer>;
    expect(bomb.length).toBeLessThan(100_000);
    expect(await faultOf(bomb, { "content-type": FORM_TYPE, "content-encoding": "gzip" })).toEqual(tooLarge);
  });

  it("but not for ten thousand headers of one part, which say nothing", async () => {
    const header = `Content-Disposition: form-data; name="metadata"${"\r\nX-A: b".repeat(10_000)}`;
    const bytes = concat([
      encodeUtf8(`--${BOUNDARY}\r\n${header}\r\n\r\n${JSON.stringify(METADATA)}\r\n`),
      form([module()]),
    ]) as Uint8Array<ArrayBuffer>;
    expect(await read(bytes)).toMatchObject({ ok: true });
  });
});
