import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { jobHealth } from "../../src/delivery/job.ts";
import type { JobReader } from "../../src/delivery/job-reader.ts";
import { LOG_STEPS } from "../../src/delivery/schema.ts";
import type { JobConfig } from "../../src/job/config.ts";
import { FragmentBuilder } from "../../src/object/fragment.ts";
import { NDJSON } from "../../src/output/format.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { freshBucket, logStatus, NOON, setClock } from "../support/runtime/pipeline.ts";
import { rule } from "../support/s3-script.ts";
import { append, DAY, fragmentsOf, inLog, isShipped, jobInto, textOfMember } from "./direct.ts";

it("a log of the first schema goes on with what it holds: records that wait, objects never tried, and tried in vain", async ({
  expect,
}) => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  await control.script([rule({ do: "answer", status: 503 }, { method: "PUT", keyIncludes: ".log.gz" }, 1)]);
  await inLog(job, async (log, storage) => {
    const { sql } = storage;
    log.configure(job, 0);
    append(log, 1, fragmentsOf(NDJSON, ["tried in vain\n"]));
    await log.drive("manual", 10_000);
    append(log, 1, fragmentsOf(NDJSON, ["never tried\n"]));
    log.configure({ ...job, version: 2, outputVersion: 2 }, 0);
    append(log, 2, fragmentsOf(NDJSON, ["waits\n"]));
    const rows = ["log", "batch", "chunk", "object"].flatMap((table) =>
      sql
        .exec(`SELECT * FROM ${table}`)
        .toArray()
        .map((row) => ({ table, row })),
    );
    expect(rows.map(({ table, row: { attempts } }) => [table, attempts])).toEqual([
      ["log", undefined],
      ["batch", undefined],
      ["chunk", undefined],
      ["chunk", undefined],
      ["chunk", undefined],
      ["object", 1],
      ["object", 0],
    ]);
    await storage.deleteAll();
    migrate(storage, LOG_STEPS.slice(0, 1));
    for (const { table, row } of rows) {
      // As step 1 had them: of what later steps keep nothing was there, and of the output only the
      // fields.
      const known = sql.exec("SELECT name FROM pragma_table_info(?)", table).toArray();
      const first = new Set(known.map(({ name }) => name));
      const { job: config, ...columns } = Object.fromEntries(Object.entries(row).filter(([name]) => first.has(name)));
      if (config !== undefined) {
        const {
          output,
          filter: _filter,
          sampleRate: _rate,
          optOutVersion: _version,
          ...old
        } = JSON.parse(String(config));
        columns.job = JSON.stringify({ ...old, fieldNames: output.fieldNames });
      }
      // Nor of what is set aside.
      delete columns.aside_objects;
      delete columns.aside_ms;
      const names = Object.keys(columns);
      sql.exec(
        `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
        ...Object.values(columns),
      );
    }
    migrate(storage, LOG_STEPS);
    // What fails, fails since its last failure at the latest: more was not kept.
    expect(log.status()).toMatchObject({ failingSinceMs: NOON, parked: false, lastReceivedMs: null });
    expect(log.objects(0, 10).entries.map(({ attempts, state }) => [attempts, state])).toEqual([
      [1, "waiting"],
      [0, "waiting"],
    ]);
    append(log, 2, fragmentsOf(NDJSON, ["and more\n"]));
    clock.advance(60_000);
    await log.drive("manual", 10_000);
  });
  expect((await logStatus(job.id)).counts).toMatchObject({ received: 4, delivered: 4, pending: 0 });
  // The hours begin with the upgrade: of the attempt before it nothing was kept.
  const hours = await jobHealth(env.READERS, job.id, 0, Number.MAX_SAFE_INTEGER);
  expect(hours).toMatchObject([{ hour: NOON / 3_600_000, ok: 3, retried: 0, failed: 0, records: 4, causes: {} }]);
  const objects = (await control.objects()).filter(isShipped);
  expect(objects.map(({ contentType }) => contentType)).toEqual(objects.map(() => "application/x-ndjson"));
  const texts = (await control.contents()).filter(isShipped).map(({ bytes }) => textOfMember(bytes));
  expect(texts.toSorted()).toEqual(["never tried\n", "tried in vain\n", "waits\nand more\n"]);
});

describe("lanes (step 10)", () => {
  /** Cuts an object of a record of each of these days, taken in at noon of {@link DAY}. */
  function cutDays(log: JobReader, job: JobConfig, days: readonly number[]): void {
    const builder = new FragmentBuilder();
    for (const day of days) builder.add("x\n", 2, day, day * 86_400_000, NOON);
    append(log, job.version, builder.finish());
    log.configure({ ...job, version: job.version + 1, outputVersion: job.outputVersion + 1 }, 0);
  }

  const DAYS = [DAY - 400, DAY, DAY + 400, DAY + 1];

  it("are given to what waits already, and not to what is done", async ({ expect }) => {
    setClock(NOON);
    const job = jobInto("nowhere");
    await inLog(job, (log, storage) => {
      const { sql } = storage;
      log.configure(job, 0);
      cutDays(log, job, DAYS);
      sql.exec("UPDATE object SET state = 'delivered' WHERE day = ?", DAY - 400);
      // As step 9 had them.
      sql.exec("DROP INDEX object_by_turn");
      sql.exec("ALTER TABLE object DROP COLUMN far");
      sql.exec("CREATE INDEX object_by_turn ON object (attempts, number) WHERE state = 'waiting'");
      sql.exec("DELETE FROM schema_step WHERE id > 9");
      migrate(storage, LOG_STEPS.slice(0, 10));
      const far = sql.exec("SELECT day FROM object WHERE far = 1 ORDER BY day").toArray();
      expect(far).toEqual([{ day: DAY + 400 }]);
    });
  });

  it("do not keep the release before from its work: it opens the log, and finds what is due in its order", async ({
    expect,
  }) => {
    setClock(NOON);
    const job = jobInto("nowhere");
    await inLog(job, (log, storage) => {
      log.configure(job, 0);
      cutDays(log, job, DAYS);
      storage.sql.exec("UPDATE object SET attempts = 1 WHERE number = 1");
      expect(migrate(storage, LOG_STEPS.slice(0, 9))).toBe(0);
      // Its statements. A statement that names an index fails if it cannot use it.
      const due = storage.sql.exec<{ number: number }>(
        "SELECT * FROM object INDEXED BY object_by_turn WHERE state = 'waiting' AND next_attempt_ms <= ? ORDER BY attempts, number LIMIT ?",
        NOON,
        10,
      );
      expect(due.toArray().map(({ number }) => number)).toEqual([2, 3, 4, 1]);
      const untried = storage.sql.exec<{ number: number }>(
        "SELECT number, next_attempt_ms FROM object INDEXED BY object_by_turn WHERE state = 'waiting' AND attempts = 0 LIMIT ?",
        10,
      );
      expect(untried.toArray().map(({ number }) => number)).toHaveLength(3);
    });
  });
});
