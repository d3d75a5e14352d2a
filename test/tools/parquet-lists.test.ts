/** Lists of very many texts in Parquet, within the memory that an isolate has. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../tools/paths.ts";

/** Largest heap of the process, in MB: an isolate has 128 in all. */
const HEAP_MB = 108;

const ENCODE = `
  const { encoderOf } = await import("./src/formats/object/encoders.ts");
  const { NDJSON } = await import("./src/formats/output/format.ts");
  const [tag] = process.argv.slice(1);
  const record = '{"ScriptTags":[' + Array(900_000 / (tag.length + 1) | 0).fill(tag) + ']}\\n';
  const lines = new TextEncoder().encode(record.repeat(4));
  const parquet = encoderOf({ ...NDJSON, type: "parquet", fieldNames: ["ScriptTags"] });
  const group = parquet.finish(lines);
  const assembly = parquet.assemble();
  assembly.add(group, { rawBytes: lines.length, crc: 0 });
  async function* file() {
    yield assembly.head.bytes;
    yield group;
    yield assembly.end().bytes;
  }
  let bytes = 0;
  for await (const part of parquet.kind.decode(file())) bytes += part.length;
  console.log(bytes === lines.length ? "whole" : bytes);
`;

it.each([
  ["of no character", '""'],
  ["of one character", '"a"'],
  ["with an escape", '"\\n"'],
])("a group of lists whose texts are %s is written and read", (_what, tag) => {
  const args = [`--max-old-space-size=${HEAP_MB}`, "--input-type=module", "-e", ENCODE, tag];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: join(ROOT), encoding: "utf8" });
  expect({ stdout, stderr: stderr.includes("heap out of memory") }).toEqual({ stdout: "whole\n", stderr: false });
});
