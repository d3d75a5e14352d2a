/** Over the state of a commit before the first release nothing starts, and nothing is lost. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { migrate } from "../../../src/base/storage/migrate.ts";
import { TRACE_LOG_STEPS } from "../../../src/ship/log/log-migrations.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { READER_STEPS } from "../../../src/ship/reader/reader-migrations.ts";
import { CONTROL_STEPS } from "../../../src/state/control/control-migrations.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import before from "../../fixtures/before-release.json";
import { api } from "../../support/runtime/api.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";

const STEPS = { ControlPlane: CONTROL_STEPS, TraceLog: TRACE_LOG_STEPS, JobReader: READER_STEPS } as const;
type Name = keyof typeof STEPS;

const WORDS = /written by a commit that is no release.*npm run teardown/;

afterEach(() => void vi.restoreAllMocks());

/** Replaces what an object has by the tables of that commit. */
async function goBack(storage: DurableObjectStorage, name: Name): Promise<void> {
  await storage.deleteAlarm();
  await storage.deleteAll();
  for (const statement of before[name]) storage.sql.exec(statement);
}

const tables = ({ sql }: DurableObjectStorage) =>
  sql.exec("SELECT name, sql FROM sqlite_master ORDER BY name").toArray();

describe("the tables of an earlier commit", () => {
  it.each(Object.keys(STEPS) as Name[])("are refused, and left as they are: %s", async (name) => {
    await runInDurableObject(env.READERS.getByName(`before ${name}`), async (_object, { storage }) => {
      await goBack(storage, name);
      const had = tables(storage);
      expect(() => migrate(storage, STEPS[name])).toThrow(WORDS);
      expect(tables(storage)).toEqual(had);
    });
  });
});

/**
 * From here on each object that starts finds such tables; what it has is left alone, as others need
 * it.
 */
async function findThem(object: DurableObjectStub<undefined>): Promise<void> {
  const prototype = await runInDurableObject(object, (_object, { storage }) => Object.getPrototypeOf(storage.sql));
  const { exec } = prototype as SqlStorage;
  vi.spyOn(prototype as SqlStorage, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
    if (!query.includes("name = 'schema_step'")) return exec.call(this, query, ...values);
    return exec.call(this, "SELECT 'CREATE TABLE schema_step (version INTEGER)' AS sql");
  } as SqlStorage["exec"]);
}

describe("a deployment over them", () => {
  it("keeps every message in the queue, answers 503 and says why", async () => {
    const said = ["error", "warn"].map((how) => vi.spyOn(console, how as "error").mockImplementation(() => {}));
    const world = new World(NOON);
    await world.createJob();
    const objects = [traceLog(env.TRACE_LOG, 0), controlPlane(env.CONTROL)] as DurableObjectStub<undefined>[];
    await findThem(objects[0] as DurableObjectStub<undefined>);
    for (const [i, object] of objects.entries()) {
      await world.take(world.mint(3));
      await evictDurableObject(object);
      world.coldIsolate();
      for (const { mock } of said) mock.calls.length = 0;
      world.clock.advance(3_600_000);
      await world.queue.deliverDue(world.isolate.queue, world.env);
      expect(world.queue.held).toHaveLength(i + 1);
      expect(JSON.stringify(said.flatMap(({ mock }) => mock.calls))).toMatch(WORDS);
    }
    expect((await api("GET", "/logship/jobs")).status).toBe(503);
    expect(await world.post(world.mint(2))).toBe(202);
    expect(world.queue.held).toHaveLength(objects.length + 1);
  });
});
