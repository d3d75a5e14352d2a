/** Configuration of other shippers, their store, their client, and how results are read. */
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { statCpuMs } from "../../../tools/bench/cpu-clock.ts";
import { FILTERED } from "../../../tools/bench/job-shapes.ts";
import { postAll, type Round, resultTable } from "../../../tools/bench/peers/main.ts";
import { PEER_WORKS, type PeerWork } from "../../../tools/bench/peers/records.ts";
import { contenders, LOGSHIP, logshipJob, onPath, PEERS } from "../../../tools/bench/peers/shippers.ts";
import { Store, unchunked } from "../../../tools/bench/peers/store.ts";
import { text } from "../../../tools/bench/table.ts";
import { folderOf } from "../project-files/temporary.ts";

const STORE = "http://127.0.0.1:9876";
const PLACE = { port: 14_321, store: STORE, folder: "/tmp/peer" };
const works = Object.keys(PEER_WORKS) as PeerWork[];

describe.each(Object.entries(PEERS))("the configuration of %s", (_name, peer) => {
  const text = (work: PeerWork): string => JSON.stringify(peer.config(work, PLACE));

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
    expect(store.take()).toEqual([body]);
    expect([store.take(), store.lines]).toEqual([[], 0]);
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
    const bodies = Array.from({ length: 9 }, (_, i) => Buffer.from(`${i}`));
    await postAll(bodies, target, 1);
    expect(taken.sort()).toEqual(bodies.map((body) => `a/b ${body}`));
  });

  it("fails with the answer to a body that is refused", async () => {
    const { target } = await serverOf([400]);
    await expect(postAll([Buffer.from("x")], target)).rejects.toThrow("400 because");
  });
});

describe("results", () => {
  const fine = { missing: 0, doubled: 0, unexpected: 0, different: 0 };
  const round = (cpuS: number, checked = fine): Round => ({
    ...{ cpuS, answeredS: cpuS * 2, storedS: cpuS * 3, objects: 5, storedBytes: 1_500_000, checked },
  });
  const other = { title: "Bento 1.2", durable: "nothing" };
  const effort = { records: 1_000, warmUpRounds: 1 };

  it("are medians of the measured rounds, and ratios within each round", () => {
    const rounds = new Map([
      [LOGSHIP, [1, 10, 4, 8].map((cpuS) => round(cpuS))],
      [other, [9, 1, 2, 4].map((cpuS) => round(cpuS))],
    ] as [object, Round[]][]);
    const [, logship, bento] = resultTable([LOGSHIP, other], rounds, effort, text).split("\n");
    expect(logship).toMatch(/logship +125 +1\.00 +8\.00 .* +each once, alike +every record, in the queue$/);
    expect(bento).toMatch(/Bento 1\.2 +500 +2\.00 +2\.00 +4\.0 +6\.0 +1\.5 +5 +each once, alike +nothing$/);
  });

  it("show a fault of any round, those that warm up as well", () => {
    const rounds = new Map([[other, [round(1, { ...fine, missing: 3 }), round(1)]]]);
    expect(resultTable([other], rounds, effort, text)).toContain("3 missing");
  });
});

describe("programs", () => {
  it("are taken as given, or from the PATH, or left out", () => {
    const folder = folderOf({});
    const program = join(folder, "fluent-bit");
    writeFileSync(program, "#!/bin/sh\necho Fluent Bit v5.1.1\n");
    expect(onPath("fluent-bit", folder)).toBeUndefined();
    chmodSync(program, 0o700);
    expect(onPath("fluent-bit", `/none:${folder}`)).toBe(program);
    const { found, without } = contenders({ "fluent-bit": program });
    expect(found.map(({ title }) => title)).toEqual(["logship", "Fluent Bit 5.1.1"]);
    expect(without).toEqual([expect.stringMatching(/^Bento: not on the PATH/)]);
  });

  it("run with a configuration and a home of their own, until they are stopped", async () => {
    const program = join(folderOf({}), "bento");
    const script = `const { port } = JSON.parse(require("fs").readFileSync(process.argv.at(-1)))
      .input.http_server.address.match(/:(?<port>\\d+)$/).groups;
      require("http").createServer((_, answer) => answer.end(process.env.HOME)).listen(port, "127.0.0.1");`;
    writeFileSync(program, `#!${process.execPath}\nif (!process.argv.includes("--version")) { ${script} }\n`, {
      mode: 0o700,
    });
    const [, bento] = contenders({ bento: program }).found;
    const running = await bento?.start(STORE, "everything");
    const home = await fetch(running?.url ?? "").then((answer) => answer.text());
    expect(existsSync(join(home, "config.yaml"))).toBe(true);
    await running?.stop();
    await expect(fetch(running?.url ?? "")).rejects.toThrow();
    expect(existsSync(home)).toBe(false);
  });

  it("fail with what they print if they end early", async () => {
    const program = join(folderOf({}), "bento");
    writeFileSync(program, "#!/bin/sh\necho why >&2\nexit 3\n", { mode: 0o700 });
    const [, bento] = contenders({ bento: program }).found;
    await expect(bento?.start(STORE, "everything")).rejects.toThrow(/does not answer:\nwhy/);
  });

  it("count their CPU time, whatever they are called", () => {
    const fields = ["S", ...Array<number>(10).fill(7), 100, 20, 3, 1, 99];
    expect(statCpuMs(`12 (a) b) ${fields.join(" ")}`)).toBe(1_240);
    expect(statCpuMs("")).toBe(0);
  });
});
