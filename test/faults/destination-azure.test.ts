/**
 * A container of Azure: its own answers, and what it shows by a SAS of each kind. What is the same
 * for all stores is in the other files.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, inject } from "vitest";
import { AZURE_ACCOUNT, accountSas } from "../support/azure-sas.ts";
import { cells, variants } from "../support/matrix.ts";
import { azureConf } from "../support/runtime/api.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { row } from "./row.ts";
import { attempts, countsOf, HEADS, PUTS, pass, said, waitingJob, written } from "./stores.ts";

const HOUR_MS = 3_600_000;

/**
 * Letters of a SAS: as advised, create-only, as the vendor wants it, and create-only without a
 * look.
 */
const PERMISSIONS = ["rcw", "rc", "w", "c"] as const;
type Permissions = (typeof PERMISSIONS)[number];

const container = (world: World, permissions: Permissions = "rcw") =>
  waitingJob(world, { conf: (name, path) => azureConf(name, path, permissions) });

const isVerified = (permissions: Permissions): boolean => permissions.includes("r");

describe("a blob whose answer is lost", () => {
  const losses = [
    ["its answer is lost", rule({ do: "reset", when: "after" }, PUTS, 1)],
    [
      "it is stored, and the answer is 500",
      rule({ do: "answer", status: 500, code: "InternalError", store: true }, PUTS, 1),
    ],
    ["the connection breaks within it", rule({ do: "reset", when: "during" }, PUTS, 1)],
    ["the connection breaks before it, thrice", rule({ do: "reset", when: "before" }, PUTS, 3)],
  ] as const;
  for (const [permissions, [name, lost]] of cells(PERMISSIONS, losses)) {
    row(`a blob is sent by a SAS of sp=${permissions}, and ${name}`, async (world) => {
      const { job, control } = await container(world, permissions);
      await control.script([lost]);
      await pass(world);
      expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
      await world.settle();
      expect([await said(job), await written(control)]).toEqual([null, 1]);
      expect(await jobObjects(job.id)).toMatchObject([{ number: 1, state: "delivered", records: 10 }]);
    });
  }

  const moments = [
    ["before it is stored", "hold"],
    ["after it was stored", "withhold"],
  ] as const;
  for (const [permissions, [when, action]] of cells(PERMISSIONS, moments)) {
    row(`everything dies while a blob is sent by a SAS of sp=${permissions}, ${when}`, async (world) => {
      const { job, control } = await container(world, permissions);
      await control.script([rule({ do: action }, PUTS, 1)]);
      world.clock.advance(60_000);
      const alarm = world.runAlarms();
      await control.whenHeld(1);
      world.injected();
      await abortAllDurableObjects();
      await alarm;
      await control.release();
      await world.mend();
      await world.settle();
      // The log knows of no attempt, so what stands there is all that it is told.
      expect(await written(control)).toBe(1);
      expect(await jobObjects(job.id)).toMatchObject([
        { number: 1, state: "delivered", verified: isVerified(permissions), records: 10 },
      ]);
    });
  }

  for (const permissions of variants(["rcw", "rc"] as const)) {
    row(`another blob stands under the key, for a SAS of sp=${permissions}: it stays`, async (world) => {
      const { job, control } = await container(world, permissions);
      await control.script([rule({ do: "reset", when: "before" }, PUTS, 1)]);
      await pass(world);
      const key = (await jobObjects(job.id))[0]?.key ?? "";
      const url = `${inject("s3Url")}/${AZURE_ACCOUNT}/${job.buckets[0]?.name}/${key}?${accountSas()}`;
      const headers = { "x-ms-version": "2021-12-02", "x-ms-blob-type": "BlockBlob" };
      expect((await fetch(url, { method: "PUT", headers, body: "theirs" })).status).toBe(201);
      await world.settle();
      expect(await jobObjects(job.id)).toMatchObject([{ number: 2, state: "delivered", verified: true }]);
      expect(new TextDecoder().decode(await control.object(key))).toBe("theirs");
      // The audit does not expect this blob.
      expect((await fetch(url, { method: "DELETE", headers })).status).toBe(204);
    });
  }
});

describe("an answer of Azure's", () => {
  /** The most telling first. */
  const busy: readonly (readonly [status: number, code: string])[] = [
    [409, "ContainerBeingDeleted"],
    [503, "ServerBusy"],
    [400, "Md5Mismatch"],
    [500, "OperationTimedOut"],
    [409, "BlobBeingRehydrated"],
    [412, "LeaseIdMissing"],
  ];
  for (const [status, code] of variants(busy, 2)) {
    row(`the container answers ${status} ${code} for two hours`, async (world) => {
      const { job, control } = await container(world);
      await control.script([rule({ do: "answer", status, code }, PUTS)]);
      for (let n = 0; n < 4; n++) {
        await pass(world, HOUR_MS / 2);
        expect(await said(job)).toMatch(new RegExp(`HTTP ${status} ${code}.*; logship is retrying$`));
        expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
      }
      await control.script([]);
      await world.settle();
      expect([await said(job), await written(control)]).toEqual([null, 1]);
    });
  }

  const parked: readonly (readonly [status: number, code: string])[] = [
    [403, "AuthenticationFailed"],
    [404, "ContainerNotFound"],
    [403, "AuthorizationPermissionMismatch"],
    [403, "AuthorizationFailure"],
    [409, "ContainerDisabled"],
    [400, "InvalidResourceName"],
  ];
  for (const [status, code] of variants(parked, 2)) {
    row(`the container answers ${status} ${code}: parked, until there is a new SAS`, async (world) => {
      const { job, control } = await container(world);
      await control.script([rule({ do: "answer", status, code })]);
      for (let n = 0; n < 12; n++) await pass(world, 300_000);
      expect(await said(job)).toMatch(new RegExp(`^delivery paused: HTTP ${status} ${code}; records are kept`));
      expect(await attempts(control)).toBeGreaterThan(3);
      await control.script([]);
      world.clock.advance(1);
      const renewed = azureConf(job.buckets[0]?.name ?? "", job.path, "cw");
      await world.jobs.change(job, { destination_conf: renewed });
      await world.runAlarms();
      expect([await said(job), (await countsOf(job)).pending]).toEqual([null, 0]);
    });
  }

  const kept: readonly (readonly [name: string, action: Action])[] = [
    ["201, and keeps nothing", { do: "discard" }],
    ["201, and keeps half", { do: "truncate" }],
  ];
  for (const [name, action] of variants(kept)) {
    row(`the container answers ${name}, for an hour`, async (world) => {
      const { job, control } = await container(world);
      await control.script([rule(action, PUTS)]);
      for (let n = 0; n < 4; n++) await pass(world, HOUR_MS / 4);
      expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
      await control.script([]);
      await world.settle();
      expect(await jobObjects(job.id)).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
    });
  }

  row("the container shows no MD5, and HEAD is refused for an hour", async (world) => {
    const { job, control } = await container(world);
    await control.script([
      rule({ do: "no-etag" }, PUTS),
      rule({ do: "answer", status: 503, code: "ServerBusy" }, HEADS),
    ]);
    for (let n = 0; n < 4; n++) await pass(world, HOUR_MS / 4);
    await control.script([]);
    await world.settle();
    expect([await said(job), await written(control)]).toEqual([null, 1]);
    expect(await jobObjects(job.id)).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
  });
});
