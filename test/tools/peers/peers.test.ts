/** Configuration of other shippers, their store, their client, and how results are read. */
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { statCpuMs } from "../../../tools/bench/cpu-clock.ts";
import { FILTERED } from "../../../tools/bench/measure.ts";
import { postAll } from "../../../tools/bench/peers/client.ts";
import { PEER_WORKS, type PeerWork } from "../../../tools/bench/peers/input.ts";
import { binariesOf, type Round, summed } from "../../../tools/bench/peers/measure.ts";
import { peersReport } from "../../../tools/bench/peers/report.ts";
import { onPath, ShipperProcess, versionIn } from "../../../tools/bench/peers/shipper-process.ts";
import { linesIn, Store, unchunked } from "../../../tools/bench/peers/store.ts";
import { LOGSHIP, logshipJob, PEER_NAMES, PEERS } from "../../../tools/bench/peers/tools.ts";
import { folderOf } from "../project-files/temporary.ts";

const STORE = "http://127.0.0.1:9876";
const PLACE = { port: 14_321, store: STORE, folder: "/tmp/peer" };
const works = Object.keys(PEER_WORKS) as PeerWork[];

describe.each(PEER_NAMES)("the configuration of %s", (name) => {
  const text = (work: PeerWork): string => JSON.stringify(PEERS[name].config(work, PLACE));

  it.each(works)("listens on loopback and writes gzip to the store: %s", (work) => {
    expect(text(work)).toMatch(/127\.0\.0\.1(:|","port":)14321/);
    expect(text(work)).not.toContain("0.0.0.0");
    expect(text(work)).toContain(`"endpoint":"${STORE}"`);
    expect(text(work)).toContain("gzip");
  });

  it("filters and projects as FILTERED does, and only then", () => {
    const needed = [...(FILTERED.fieldNames ?? []), "images", "feeds", "400"];
    expect(needed.filter((part) => !text("filtered").includes(part))).toEqual([]);
    expect(needed.filter((part) => text("everything").includes(part))).toEqual([]);
  });
});

it("gives logship's job the same work, and objects of the same size", () => {
  const { filter, fieldNames } = FILTERED;
  expect(logshipJob("filtered", STORE)).toMatchObject({ filter, output_options: { field_names: fieldNames } });
  expect(logshipJob("everything", STORE)).toMatchObject({ max_upload_records: 20_000 });
  expect(logshipJob("everything", STORE)).not.toHaveProperty("filter");
  expect(String(logshipJob("everything", STORE).destination_conf)).toContain(encodeURIComponent(STORE));
});

describe("the store", () => {
  it("keeps what is PUT, counts its lines, and leaves out trials of a destination", async () => {
    const store = new Store();
    const url = await store.listen();
    onTestFinished(() => store.close());
    const put = (path: string, body: Buffer<ArrayBuffer>, headers = {}) =>
      fetch(url + path, { method: "PUT", body, headers });
    const body = gzipSync("1\n2\n3");
    expect((await put("/bench/00010101/test.txt.gz", body, { "x-amz-meta-a": "b" })).status).toBe(200);
    expect((await put("/bench/a.log.gz?x=1", body)).status).toBe(200);
    await expect.poll(() => store.lines).toBe(3);
    const head = await fetch(`${url}/bench/00010101/test.txt.gz`, { method: "HEAD" });
    expect([head.status, head.headers.get("x-amz-meta-a")]).toEqual([200, "b"]);
    expect((await fetch(`${url}/bench/none`, { method: "HEAD" })).status).toBe(404);
    expect((await fetch(`${url}/bench/a?uploads`, { method: "POST" })).status).toBe(501);
    expect(store.refused).toEqual(["POST /bench/a"]);
    expect(store.take()).toEqual({ objects: [body], bytes: body.length });
    expect([store.take().objects, store.lines]).toEqual([[], 0]);
  });

  it.each([
    ["", 0],
    ["a", 1],
    ["a\n", 1],
    ["\na\n\nb", 2],
  ])("counts lines: %j", (text, lines) => {
    expect(linesIn(Buffer.from(text))).toBe(lines);
  });

  it("reads aws-chunked bodies, with signatures and trailers", () => {
    const body = "5;chunk-signature=00\r\nhello\r\n3\r\n, y\r\n0\r\nx-amz-checksum-crc32:AA==\r\n\r\n";
    expect(unchunked(Buffer.from(body)).toString()).toBe("hello, y");
    expect(() => unchunked(Buffer.from("no size"))).toThrow("without a size");
  });
});

describe("the client", () => {
  async function serverOf(answers: readonly number[]) {
    const taken: string[] = [];
    const waiting = [...answers];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const status = waiting.shift() ?? 202;
      if (status === 202) taken.push(`${request.headers["content-type"]} ${body}`);
      response.writeHead(status).end("because");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const target = {
      ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in` },
      headers: { "content-type": "a/b" },
    };
    return { taken, target };
  }

  it("sends each body until it is taken", async () => {
    const { taken, target } = await serverOf([503, 429, 202]);
    const waits: number[] = [];
    const bodies = Array.from({ length: 9 }, (_, i) => Buffer.from(`${i}`));
    await postAll(bodies, target, async (ms) => void waits.push(ms));
    expect(taken.sort()).toEqual(bodies.map((body) => `a/b ${body}`));
    expect(waits).toHaveLength(2);
  });

  it("fails with the answer to a body that is refused", async () => {
    const { target } = await serverOf([400]);
    await expect(postAll([Buffer.from("x")], target)).rejects.toThrow("400 because");
  });
});

describe("results", () => {
  const fine = { found: 1, missing: 0, doubled: 0, unexpected: 0, different: 0, example: null };
  const round = (cpuS: number, checked = fine): Round => ({
    ...{ cpuS, answeredS: cpuS * 2, storedS: cpuS * 3, objects: 5, storedBytes: 1_500_000, checked },
  });

  it("are medians of the measured rounds, and ratios within each round", () => {
    const result = summed(1_000, [round(9), round(1), round(2), round(4)], 1, [round(10), round(4), round(8)]);
    expect(result).toMatchObject({ cpuS: 2, answeredS: 4, storedS: 6, objects: 5 });
    expect(result.recordsPerCpuSecond.median).toBe(500);
    expect(result.ratio).toMatchObject({ low: 2, median: 2 });
    expect(result.checked).toBe(fine);
  });

  it("show a fault of any round, those that warm up as well", () => {
    const bad = { ...fine, missing: 3 };
    expect(summed(1_000, [round(1, bad), round(1)], 1, [round(1)]).checked).toBe(bad);
  });

  it("are told beside what is durable, with what was left out", () => {
    const text = peersReport({
      ...{ records: 1_000, rounds: 1, inputBytes: 800_000, machine: "2 × a CPU" },
      results: works.flatMap((work) => [
        { ...LOGSHIP, version: "here", work, ...summed(1_000, [round(2)], 0, [round(2)]) },
        { ...PEERS.bento, version: "1.2", work, ...summed(1_000, [round(1)], 0, [round(2)]) },
      ]),
      without: ["Vector: not on the PATH"],
    });
    expect(
      text.match(/Bento 1\.2 +1,000 +2\.00 +1\.00 +2\.0 +3\.0 +1\.5 +5 +each once, alike +nothing$/gm),
    ).toHaveLength(2);
    expect(text).toContain(PEERS.bento.durable.source);
    expect(text).toContain("Left out:\n  Vector: not on the PATH");
  });
});

describe("programs", () => {
  const config = ({ port }: { port: number }): object => ({ port });
  const script = (file: string): string =>
    `const { port } = JSON.parse(require("fs").readFileSync(${JSON.stringify(file)}));
     require("http").createServer((_, answer) => answer.end(process.env.HOME)).listen(port, "127.0.0.1");`;

  it("run with a configuration and a home of their own, until they are stopped", async () => {
    const started = await ShipperProcess.start(process.execPath, STORE, config, (file) => ["-e", script(file)]);
    const home = await fetch(started.url).then((answer) => answer.text());
    expect(existsSync(join(home, "config.yaml"))).toBe(true);
    await started.stop();
    await expect(fetch(started.url)).rejects.toThrow();
    expect(existsSync(home)).toBe(false);
  });

  it("fail with what they print if they end early, or are not there", async () => {
    const failing = ShipperProcess.start(process.execPath, STORE, config, () => [
      "-e",
      "console.error('why'); process.exit(3)",
    ]);
    await expect(failing).rejects.toThrow(/does not answer:\nwhy/);
    await expect(ShipperProcess.start("/no/program", STORE, config, () => [])).rejects.toThrow("ENOENT");
  });

  it("are taken as given, or from the PATH", () => {
    const folder = folderOf({});
    const program = join(folder, "otelcol-contrib");
    writeFileSync(program, "");
    expect(onPath("otelcol-contrib", folder)).toBeUndefined();
    chmodSync(program, 0o700);
    expect(binariesOf({ bento: "/there/bento" }, `/none:${folder}`)).toEqual({
      ...{ bento: "/there/bento", otelcol: program },
    });
  });

  it.each([
    ["Version: 1.20.0-10-g7825c95\nDate: unknown", "1.20.0-10-g7825c95"],
    ["Fluent Bit v5.1.1\nGit commit: 0123", "5.1.1"],
    ["vector 0.50.0 (x86_64-unknown-linux-gnu 9053198 2025-09-23)", "0.50.0"],
    ["Version: unknown", "unknown version"],
  ])("say their version: %j", (text, version) => {
    expect(versionIn(text)).toBe(version);
  });

  it("count their CPU time, whatever they are called", () => {
    const fields = ["S", ...Array<number>(10).fill(7), 100, 20, 3, 1, 99];
    expect(statCpuMs(`12 (a) b) ${fields.join(" ")}`)).toBe(1_240);
    expect(statCpuMs("")).toBe(0);
  });
});
