/** What is listed in manifests, when, and how often: once. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { nodeOf } from "../../../src/ship/log/nodes.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { freshBucket, logStatus, NOON, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { sealed } from "./canary-world.ts";
import { append, configure, DAY, fragmentsOf, inLog, jobInto } from "./direct.ts";
import { listed, listedIn, manifestsIn, signerWith, signWith, verified } from "./manifest-world.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

async function signedWorld() {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  signWith(1);
  await configure(job);
  /** An object of a day, counted from that of NOON, that is uploaded at once. */
  const deliver = async (day = 0): Promise<void> => {
    const fragments = fragmentsOf(NDJSON, ["{}\n"]).map((fragment) => ({
      ...fragment,
      day: DAY + day,
      firstEventMs: NOON + day * DAY_MS,
      lastEventMs: NOON + day * DAY_MS,
    }));
    await append(job, fragments);
    await nodeAt(env.READERS, job.id, 0).drive("manual", 10_000);
    await listed(job.id);
  };
  const cron = async (afterMs = 0): Promise<void> => {
    clock.advance(afterMs);
    await nodeAt(env.READERS, job.id, 0).drive("scheduled", 10_000);
    await listed(job.id);
  };
  /** After midnight, when the day of NOON is over. */
  const nextDay = (): Promise<void> => cron(Math.ceil(clock.nowMs() / DAY_MS) * DAY_MS - clock.nowMs() + HOUR_MS);
  const names = async (): Promise<string[]> =>
    (await manifestsIn(control)).map(({ key, objects }) => `${key.split("/").at(-1)}: ${objects.length}`);
  return { clock, control, job, deliver, cron, nextDay, names };
}

describe("a day", () => {
  it("is listed when it is over, each object once, and verifies", async () => {
    const { clock, control, job, deliver, cron, nextDay, names } = await signedWorld();
    await deliver();
    await deliver();
    await cron(6 * HOUR_MS);
    expect(await names()).toEqual([]);
    await nextDay();
    expect(await names()).toEqual(["21001120.1.json: 2"]);
    const [manifest] = await manifestsIn(control);
    expect(manifest).toMatchObject({
      key: `logs/_logship/${job.id}/21001120.1.json`,
      job: job.id,
      root: "logs",
      path: "logs/{DATE}",
      chain: { position: 1, previous: null },
      open_from: "21001121",
      sums: { objects: 2, records: 2 },
      deliveries: [{ shard: 0, segment: 0, delivered: 2, listed: 2 }],
      ledger: { received: 2, delivered: 2, pending: 0 },
    });
    await cron(HOUR_MS);
    expect(await names()).toHaveLength(1);
    await deliver(1);
    expect(await verified(control, clock.nowMs())).toMatchObject({ said: [], objects: 2, open: 1 });
  });

  it("gets a manifest without objects, so that one that is removed is missed", async () => {
    const { clock, control, deliver, nextDay, names } = await signedWorld();
    await deliver();
    await nextDay();
    await nextDay();
    await nextDay();
    expect(await names()).toEqual(["21001120.1.json: 1", "21001121.1.json: 0", "21001122.1.json: 0"]);
    expect((await verified(control, clock.nowMs(), { until: "21001122" })).said).toEqual([]);
    expect((await verified(control, clock.nowMs(), { until: "21001123" })).said).toEqual([
      expect.stringContaining("21001123 to 21001123 are missing"),
    ]);
  });

  it("is listed again for what comes late, an hour after the last time, and so is one far ahead", async () => {
    const { clock, control, deliver, cron, nextDay, names } = await signedWorld();
    await deliver();
    await nextDay();
    await deliver();
    await deliver(-400);
    await deliver(30_000);
    await cron(HOUR_MS);
    expect(await names()).toEqual([
      "21001120.1.json: 1",
      "20991016.1.json: 1",
      "21001120.2.json: 1",
      expect.stringMatching(/^2183\d{4}\.1\.json: 1$/),
    ]);
    expect((await verified(control, clock.nowMs())).said).toEqual([]);
  });

  it("is listed again with the copies of a replay, and with those that it wrote elsewhere", async () => {
    const { control, job, deliver, cron, nextDay } = await signedWorld();
    await deliver();
    await nextDay();
    const copy = {
      ...{
        number: 1,
        day: DAY,
        part: "",
        name: "copy",
        bytes: 9,
        rawBytes: 9,
        records: 1,
        sha256: "0".repeat(64),
        md5: "",
      },
      ...{ contentType: "", firstEventMs: NOON, lastEventMs: NOON, attempts: 1, verified: true, place: 1 },
    };
    await inLog(job, (log) => {
      log.replayed({ ...copy, replay: "r1", key: "logs/21001120/copy.log.gz", elsewhere: null });
      log.replayed({ ...copy, replay: "r2", key: "other/copy.log.gz", elsewhere: "other" });
    });
    await cron(HOUR_MS);
    const [, second] = await manifestsIn(control);
    expect(second).toMatchObject({ day: "21001120", number: 2, sums: { objects: 2 } });
    expect(second?.objects.map(({ key, copy_of, at, delivery }) => [key, copy_of, at, delivery])).toEqual([
      ["logs/21001120/copy.log.gz", 1, undefined, 2],
      ["other/copy.log.gz", 1, "elsewhere", 3],
    ]);
  });

  it("lists what was delivered before there was a key", async () => {
    const { clock, control, deliver, nextDay, names } = await signedWorld();
    vi.spyOn(JobReader.prototype, "isSigned").mockReturnValue(false);
    await deliver();
    signWith(1);
    await nextDay();
    expect(await names()).toEqual(["21001120.1.json: 1"]);
    expect((await verified(control, clock.nowMs())).said).toEqual([]);
  });

  it("is not written of a job without a key, and costs nothing", async () => {
    const { control, job, deliver, nextDay, names } = await signedWorld();
    const { isSigned } = Object.getPrototypeOf(await inLog(job, (log) => log)) as {
      isSigned: { mockReturnValue(is: boolean): void };
    };
    isSigned.mockReturnValue(false);
    await deliver();
    await nextDay();
    expect(await names()).toEqual([]);
    expect((await logStatus(job.id)).manifests).toBeNull();
    expect(await inLog(job, (_log, { sql }) => sql.exec("SELECT * FROM manifest_chain").toArray())).toEqual([]);
    expect(await listedIn(control)).toEqual({});
  });
});

describe("a store", () => {
  it("that refuses a manifest holds up nothing, and the job says so", async () => {
    const { clock, control, job, deliver, cron, nextDay, names } = await signedWorld();
    await deliver();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { keyIncludes: "_logship" })]);
    await nextDay();
    expect((await logStatus(job.id)).manifests).toMatchObject({ isWaiting: true, why: expect.stringContaining("403") });
    await deliver(1);
    expect(await logStatus(job.id)).toMatchObject({ errorMessage: null, counts: { delivered: 2 } });
    await control.script([]);
    await cron(HOUR_MS);
    expect((await logStatus(job.id)).manifests).toMatchObject({ isWaiting: false, failingSinceMs: null, position: 1 });
    expect(await names()).toEqual(["21001120.1.json: 1"]);
    expect((await verified(control, clock.nowMs())).said).toEqual([]);
  });

  it("that has another object under its key gets it with the next number", async () => {
    const { clock, control, job, deliver, nextDay, names } = await signedWorld();
    await deliver();
    await nextDay();
    // As after a restore of its log to an earlier time, which a stranger sees.
    await inLog(job, (_log, { sql }) => {
      sql.exec("DELETE FROM manifest_day");
      sql.exec("DELETE FROM manifest_node");
      sql.exec("DELETE FROM manifest_chain");
    });
    await nextDay();
    expect(await names()).toEqual(["21001120.1.json: 1", "21001120.2.json: 1"]);
    expect((await control.puts()).filter(({ version }) => version > 1)).toEqual([]);
    expect((await verified(control, clock.nowMs())).said).toEqual([expect.stringContaining("the chain has two ends")]);
  });
});

it("signs with another key from its change on, and both keys verify the chain", async () => {
  const { clock, control, deliver, nextDay } = await signedWorld();
  await deliver();
  await nextDay();
  signWith(2);
  await deliver(1);
  await nextDay();
  const keys = [(await signerWith(1)).publicKey, (await signerWith(2)).publicKey];
  expect((await verified(control, clock.nowMs(), { keys })).said).toEqual([]);
  expect((await verified(control, clock.nowMs())).said).toEqual(
    expect.arrayContaining([expect.stringContaining(`a key that was not given: ${keys[1]?.id}`)]),
  );
});

it("lists the deliveries of all shards in one chain", async () => {
  const clock = setClock(NOON);
  signWith(1);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  await configure(job);
  for (const shard of [0, 1]) {
    await append(job, fragmentsOf(NDJSON, ["{}\n"]), { shard });
    await inLog(job, (log) => log.drive("manual", 10_000), nodeOf(shard, 0));
  }
  clock.advance(DAY_MS);
  await inLog(job, (log) => log.drive("scheduled", 10_000));
  await listed(job.id);
  const [manifest] = await manifestsIn(control);
  expect(manifest?.objects.map(({ shard, delivery }) => [shard, delivery])).toEqual([
    [0, 1],
    [1, 1],
  ]);
  expect((await verified(control, clock.nowMs())).said).toEqual([]);
});

describe("a job that moves", () => {
  it("begins a chain at its new place, and lists there what went elsewhere as such", async () => {
    const { clock, control, job, deliver, cron, nextDay } = await signedWorld();
    await deliver();
    const { name, control: moved } = freshBucket();
    const { destination } = jobInto(name);
    const change = { version: 2, modifiedVersion: 2, destinationVersion: 2, destination };
    await configure(Object.assign(job, change));
    await deliver();
    await nextDay();
    const [manifest] = await manifestsIn(moved);
    expect(manifest).toMatchObject({ chain: { position: 1, previous: null } });
    expect(manifest?.objects.map(({ number, at }) => [number, at])).toEqual([
      [1, "unknown"],
      [2, undefined],
    ]);
    expect(await manifestsIn(control)).toEqual([]);
    expect((await verified(moved, clock.nowMs())).said).toEqual([]);
    // Another key of the same bucket is the same place.
    await configure(Object.assign(job, { version: 3, destinationVersion: 3 }));
    await deliver(1);
    await cron(DAY_MS);
    expect((await manifestsIn(moved)).map(({ chain }) => chain.position)).toEqual([1, 2]);
    expect((await verified(moved, clock.nowMs())).said).toEqual([]);
  });
});

it("lists in part elsewhere what a job delivered before it moved away for days, and came back", async () => {
  const { clock, control, job, deliver, nextDay } = await signedWorld();
  const home = job.destination;
  await deliver();
  await nextDay();
  await deliver(1);
  const { name, control: away } = freshBucket();
  const { destination } = jobInto(name);
  await configure(Object.assign(job, { version: 2, destinationVersion: 2, destination }));
  await deliver(1);
  await nextDay();
  await configure(Object.assign(job, { version: 3, destinationVersion: 3, destination: home }));
  await deliver(2);
  await nextDay();
  expect((await verified(away, clock.nowMs())).said).toEqual([]);
  expect(await verified(control, clock.nowMs())).toMatchObject({ said: [], objects: 2, before: 1 });
});

it("rests while its job ships to a receiver, and goes on when it is back", async () => {
  const { clock, control, job, deliver, cron, nextDay, names } = await signedWorld();
  const { destination } = job;
  await deliver();
  await control.script([rule({ do: "answer", status: 503 }, { keyIncludes: "_logship" })]);
  await nextDay();
  await control.script([]);
  const move = (to: string, version: number): Promise<void> =>
    configure(Object.assign(job, { version, destinationVersion: version, destination: to }));
  await move(
    sealed("", "", () => "https://logs.example.com/take"),
    2,
  );
  await cron(HOUR_MS);
  // No alarm is set for what rests, again and again.
  expect(await inLog(job, (log) => log.manifests.nextMs(clock.nowMs()))).toBeGreaterThan(clock.nowMs() + HOUR_MS / 2);
  expect((await logStatus(job.id)).manifests).toMatchObject({ failingSinceMs: null, isWaiting: false });
  await move(destination, 3);
  await cron(HOUR_MS);
  expect(await names()).toEqual(["21001120.1.json: 1"]);
  expect((await verified(control, clock.nowMs())).said).toEqual([]);
});

it("drops a manifest that was being signed as its job moved", async () => {
  const { clock, control, job, deliver, nextDay } = await signedWorld();
  await deliver();
  const { name, control: moved } = freshBucket();
  const signer = await signerWith(1);
  vi.spyOn(JobReader.prototype, "signer").mockResolvedValue({
    ...signer,
    sign: async (bytes) => {
      const change = { version: 2, destinationVersion: 2, destination: jobInto(name).destination };
      await configure(Object.assign(job, change));
      return signer.sign(bytes);
    },
  });
  await nextDay();
  expect(await manifestsIn(control)).toEqual([]);
  expect(await manifestsIn(moved)).toMatchObject([{ chain: { position: 1 }, objects: [{ at: "unknown" }] }]);
  expect((await verified(moved, clock.nowMs())).said).toEqual([]);
});

it("keeps what no manifest lists yet in the list of objects", async () => {
  const { clock, control, job, deliver, cron, nextDay } = await signedWorld();
  await deliver();
  const refused = vi.spyOn(JobReader.prototype, "deliveredOn").mockImplementation(() => {
    throw new Error("refused");
  });
  await nextDay();
  expect((await logStatus(job.id)).manifests).toMatchObject({ why: expect.stringContaining("internal error") });
  await cron(31 * DAY_MS);
  refused.mockRestore();
  await cron(HOUR_MS);
  expect(Object.keys(await listedIn(control))).toHaveLength(1);
  await cron(DAY_MS);
  await cron(DAY_MS);
  expect(await inLog(job, (_log, { sql }) => sql.exec("SELECT * FROM object").toArray())).toEqual([]);
  expect((await verified(control, clock.nowMs())).said).toEqual([]);
});

it("divides a day into manifests of bounded size", async () => {
  const { clock, control, job, deliver, nextDay, names } = await signedWorld();
  await deliver();
  await inLog(job, (_log, { sql }) => {
    sql.exec("UPDATE object SET key = replace(key, '.log.gz', ?) WHERE number = 1", `${"x".repeat(600)}.log.gz`);
    const columns = sql
      .exec("SELECT * FROM object LIMIT 0")
      .columnNames.filter((name) => name !== "number" && name !== "delivery");
    sql.exec(
      `WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 3000)
         INSERT INTO object (number, delivery, ${columns.join()}) SELECT n, n, ${columns.join()} FROM object, n WHERE number = 1`,
    );
    sql.exec("UPDATE reader SET deliveries = 3000");
  });
  await nextDay();
  expect(await names()).toEqual(["21001120.1.json: 1491", "21001120.2.json: 1489", "21001120.3.json: 20"]);
  const [first, second] = await manifestsIn(control);
  expect(second?.objects[0]?.delivery).toBe((first?.objects.at(-1)?.delivery ?? 0) + 1);
  expect((await verified(control, clock.nowMs())).said.filter((each) => each.includes("chain"))).toEqual([]);
});
