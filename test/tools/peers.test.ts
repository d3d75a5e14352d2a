/** What `npm run bench -- --peers` asks of other shippers, and how it reads what they store. */
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { compileFilter } from "../../src/formats/filter/compile.ts";
import { parseFilter } from "../../src/formats/filter/parse.ts";
import { FILTERED } from "../../tools/bench/job-shapes.ts";
import { bentoConfig, fluentBitConfig, PEER_WORKS, type PeerWork } from "../../tools/bench/peers/configs.ts";
import { canonical, check, inputOf, peerOf, unchunked } from "../../tools/bench/peers/peers.ts";
import { statCpuMs } from "../../tools/bench/proc.ts";
import { Sink } from "../../tools/bench/sink.ts";
import { folderOf } from "./project-files/temporary.ts";

const STORE = "http://127.0.0.1:9876";

it.each([
  ["Bento", bentoConfig],
  ["Fluent Bit", fluentBitConfig],
] as const)("%s filters and projects as FILTERED does, and only then", (_name, config) => {
  const text = (work: PeerWork): string =>
    JSON.stringify(config(work, { port: 14_321, store: STORE, folder: "/tmp/peer" }));
  const needed = [...(FILTERED.fieldNames ?? []), "images", "feeds", "400"];
  expect(needed.filter((part) => !text("filtered").includes(part))).toEqual([]);
  expect(needed.filter((part) => text("everything").includes(part))).toEqual([]);
});

describe("the records", () => {
  const { bodies, expected } = inputOf("everything", 3_000, 0);
  const lines = bodies.flatMap((body) => body.toString().trimEnd().split("\n"));

  it("are to arrive whole, or as the shipper's own filter and projection keep them", () => {
    expect([...expected]).toEqual(lines.map((line) => canonical(JSON.parse(line))));
    const parsed = parseFilter(FILTERED.filter ?? "");
    if (!parsed.ok || parsed.filter === null) throw new Error("the filter is invalid");
    const kept = lines.map((line) => JSON.parse(line)).filter(compileFilter(parsed.filter));
    const projected = kept.map((record) =>
      Object.fromEntries(PEER_WORKS.filtered.fieldNames?.map((name) => [name, record[name]]) ?? []),
    );
    expect([...inputOf("filtered", 3_000, 0).expected]).toEqual(projected.map(canonical));
  });

  it("are compared in any order of records and keys; one too few, twice or changed fails", () => {
    check(lines.toReversed(), expected);
    const [first = "", ...others] = lines;
    expect(() => check(others, expected)).toThrow("2999 records were stored, 2999 as expected, instead of 3000");
    expect(() => check([first, ...lines], expected)).toThrow("3001 records");
    expect(() => check([first.replace('"Outcome":"', '"Outcome":"x'), ...others], expected)).toThrow("2999 as");
  });
});

it("the store keeps what is PUT, but no test of a destination, and refuses what is not as announced", async () => {
  const sink = new Sink();
  sink.isKeeping = true;
  const url = await sink.listen();
  onTestFinished(() => sink.close());
  const put = async (path: string, headers = {}) =>
    (await fetch(url + path, { method: "PUT", body: "body", headers })).status;
  expect(await put("/bench/00010101/test.txt.gz", { "x-amz-meta-a": "b" })).toBe(200);
  expect(await put("/bench/a.log.gz?x=1")).toBe(200);
  expect(await put("/bench/b.log.gz", { "x-amz-content-sha256": "0".repeat(64) })).toBe(400);
  const head = await fetch(`${url}/bench/00010101/test.txt.gz`, { method: "HEAD" });
  expect([head.status, head.headers.get("x-amz-meta-a")]).toEqual([200, "b"]);
  expect([...sink.kept].map(([path, { body }]) => [path, `${body}`])).toEqual([["/bench/a.log.gz", "body"]]);
});

it("reads aws-chunked bodies, with signatures and trailers", () => {
  const body = "5;chunk-signature=00\r\nhello\r\n3\r\n, y\r\n0\r\nx-amz-checksum-crc32:AA==\r\n\r\n";
  expect(unchunked(Buffer.from(body)).toString()).toBe("hello, y");
  expect(() => unchunked(Buffer.from("no size"))).toThrow("without a size");
});

describe("a program", () => {
  const bento = (script: string): string => {
    const program = join(folderOf({}), "bento");
    writeFileSync(program, script);
    chmodSync(program, 0o700);
    return program;
  };

  it("runs with a configuration and a home of its own, until it is stopped", async () => {
    const script = `const { port } = JSON.parse(require("fs").readFileSync(process.argv.at(-1)))
      .input.http_server.address.match(/:(?<port>\\d+)$/).groups;
      require("http").createServer((_, answer) => answer.end(process.env.HOME)).listen(port, "127.0.0.1");`;
    const program = bento(
      `#!${process.execPath}\nif (process.argv.includes("--version")) console.log("v1.2.3"); else { ${script} }\n`,
    );
    const peer = peerOf("bento", program);
    expect(peer?.title).toBe("Bento 1.2.3");
    const running = await peer?.start(STORE, "everything");
    const home = await fetch(running?.url ?? "").then((answer) => answer.text());
    expect(existsSync(join(home, "config.yaml"))).toBe(true);
    await running?.stop();
    expect(existsSync(home)).toBe(false);
  });

  it("fails with what it prints if it ends early, and is left out if it is not there", async () => {
    const peer = peerOf("bento", bento("#!/bin/sh\necho why >&2\nexit 3\n"));
    await expect(peer?.start(STORE, "everything")).rejects.toThrow(/does not answer:\nwhy/);
    expect(peerOf("bento", "/none/bento")).toBeNull();
  });
});

it("counts CPU time of a process, whatever it is called", () => {
  const fields = ["S", ...Array<number>(10).fill(7), 100, 20, 3, 1, 99];
  expect(statCpuMs(`12 (a) b) ${fields.join(" ")}`)).toBe(1_240);
  expect(statCpuMs("")).toBe(0);
});
