import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { describe, it } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { readConfig } from "../../../src/config.ts";
import { destinationPurpose, encrypt } from "../../../src/formats/secrets/encrypted.ts";
import { openDestination } from "../../../src/ship/destinations/kinds.ts";
import { parseDestination } from "../../../src/ship/destinations/parse.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { assertClean } from "../../support/oracle.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { deliver, jobObjects, logStatus, pack, runAlarm, settle } from "../../support/runtime/pipeline.ts";
import { type Match, rule } from "../../support/s3-script.ts";
import { PUTS, waitingJob } from "./waiting.ts";

describe("an object that is under its key already", () => {
  it("is ours if size and ETag agree: delivered, not sent twice", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([rule({ do: "answer", status: 503, store: true }, PUTS, 1)]);
    await settle(job, clock);
    assertClean(await audit());
    expect(await jobObjects(job)).toMatchObject([{ number: 1, verified: true, attempts: 2 }]);
  });

  it("is ours if our checksum stands beside it, whatever the ETag", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 503, store: true }, PUTS, 1),
      rule({ do: "wrong-etag" }, { method: "HEAD" }),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect(await jobObjects(job)).toMatchObject([{ number: 1, verified: true }]);
  });

  it.for([
    ["with a checksum of its own", null],
    ["with nothing that says whose it is", { do: "drop-meta" }],
  ] as const)(
    "is somebody else's if it differs, %s: it stays, and ours gets a new number and key",
    async ([_what, action], { expect }) => {
      const { clock, name, control, job, oracle } = await waitingJob();
      await control.script([rule({ do: "answer", status: 503 }, PUTS, 1)]);
      clock.advance(30_000);
      await runAlarm(job);
      const [{ key = "" } = {}] = await jobObjects(job);
      if (action !== null) await control.script([rule(action)]);
      const theirs = await putForeign(name, key);
      await settle(job, clock);
      const objects = await jobObjects(job);
      expect(objects).toMatchObject([{ number: 2, state: "delivered", verified: true, records: 10 }]);
      expect(await control.objects()).toEqual(
        expect.arrayContaining([expect.objectContaining({ key, puts: 1, sha256: theirs })]),
      );
      const ours = (await control.contents()).filter((object) => object.key === objects[0]?.key);
      assertClean(oracle.audit("job", ours, { path: "logs/{DATE}" }));
    },
  );

  it("counts as delivered and unverified if the store will not show it", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 503, store: true }, PUTS, 1),
      rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "HEAD" }),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect(await jobObjects(job)).toMatchObject([{ number: 1, state: "delivered", verified: false }]);
  });

  it("is not asked about without end where the store claims it of every key", async ({ expect }) => {
    const { clock, control, job } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 412, code: "PreconditionFailed" }, PUTS),
      rule({ do: "answer", status: 200, headers: { etag: `"${"0".repeat(32)}"` } }, { method: "HEAD" }),
    ]);
    for (let i = 0; i < 10; i++) {
      clock.advance(60_000);
      await runAlarm(job);
    }
    const puts = (await control.requests()).filter(({ method, key }) => method === "PUT" && key.endsWith(".log.gz"));
    expect(puts.length).toBeLessThan(15);
    expect((await logStatus(job)).counts).toMatchObject({ pending: 10 });
  });
});

describe("a store that does not know If-None-Match", () => {
  const conditional: Match = { conditional: true };

  it("answers 501: asked again without it, and remembered", async ({ expect }) => {
    const { clock, control, job, oracle, audit } = await waitingJob();
    await control.script([rule({ do: "answer", status: 501, code: "NotImplemented" }, conditional)]);
    await settle(job, clock);
    const more = oracle.mint(10);
    oracle.acknowledged("job", more);
    await deliver(pack(more, clock.nowMs()));
    await settle(job, clock);
    assertClean(await audit());
    const refused = (await control.requests()).filter(({ status }) => status === 501);
    expect(refused).toHaveLength(1);
  });

  it("loses an answer: the same bytes under the same key, once", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 501, code: "NotImplemented" }, conditional),
      rule({ do: "reset", when: "after" }, PUTS, 2),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect((await control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(1);
  });

  it("ignores it, and loses an answer: the same bytes under the same key", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 503, store: true }, PUTS, 2),
      rule({ do: "ignore-conditional" }, PUTS),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect(
      new Set((await control.puts()).filter(({ key }) => key.endsWith(".log.gz")).map(({ sha256 }) => sha256)).size,
    ).toBe(1);
  });
});

describe("an object that the store refuses for itself", () => {
  it("is not set aside when the store would refuse anything: that is the destination's fault", async ({ expect }) => {
    const { clock, control, job, view, audit } = await waitingJob();
    await control.script([rule({ do: "answer", status: 400, code: "InvalidRequest" })]);
    clock.advance(30_000);
    await runAlarm(job);
    expect((await view()).error_message).toMatch(/^parked: HTTP 400 InvalidRequest/);
    await control.script([]);
    await settle(job, clock);
    assertClean(await audit());
  });
});

it("parks a job whose destination no key opens, and says so", async ({ expect }) => {
  const { clock, job, view, audit } = await waitingJob();
  const log = nodeAt(env.READERS, job, 0);
  const other = { current: new Uint8Array(32).fill(7), previous: null };
  const resealed = encrypt(destinationConf("x"), destinationPurpose("test-account"), other);
  const swap = (to: string) =>
    runInDurableObject(log, (_log, { storage }) => {
      const before = JSON.parse(String(storage.sql.exec("SELECT job FROM reader").one().job)) as {
        destination: string;
      };
      storage.sql.exec("UPDATE reader SET job = ?", JSON.stringify({ ...before, destination: to }));
      return before.destination;
    });
  const original = await swap(resealed);
  clock.advance(30_000);
  await runAlarm(job);
  expect((await view()).error_message).toMatch(/^parked: neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens/);
  expect((await logStatus(job)).counts.pending).toBe(10);
  await swap(original);
  await settle(job, clock);
  assertClean(await audit());
});

/** Puts another service's object under a key. @returns its SHA-256. */
async function putForeign(bucket: string, key: string): Promise<string> {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.faults.join("; "));
  const destination = parseDestination(destinationConf(bucket), config.config.destinations);
  if (!destination.ok) throw new Error(destination.why);
  const body = new TextEncoder().encode("somebody else's");
  const sha256 = createHash("sha256").update(body).digest("hex");
  const object = { key, bytes: body.length, sha256, contentType: "text/plain" };
  const failure = await openDestination(destination.value, platform).overwrite(object, body);
  if (failure !== null) throw new Error(failure.words);
  return sha256;
}
