import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { JOBS_REMEMBERED_MAX } from "../../../src/base/limits.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, NOON, setClock } from "../../support/runtime/pipeline.ts";
import { control } from "./copies.ts";

const DAY_MS = 86_400_000;

/**
 * Writes copies of a job, as if it had been created and deleted so often. @param change of its
 * configuration.
 */
const fill = (id: number, rows: number, change: object = {}): Promise<void> =>
  runInDurableObject(control(), (_control, { storage: { sql } }) => {
    const { config } = sql.exec<{ config: string }>("SELECT config FROM job WHERE id = ?", id).one();
    for (let i = 0; i < rows; i++) {
      const copy = 1_000 + i;
      sql.exec(
        "INSERT INTO job (id, body, config, created_ms, modified_ms, deleted_ms) VALUES (?, '{}', ?, ?, ?, ?)",
        copy,
        JSON.stringify({ ...JSON.parse(config), ...change, id: copy, deletedMs: NOON }),
        NOON,
        NOON,
        NOON,
      );
    }
  });

describe("jobs that are remembered", () => {
  it("are bounded, deleted ones included, until these are forgotten", async () => {
    const clock = setClock(NOON);
    const id = await createJob(freshBucket().name);
    await fill(id, JOBS_REMEMBERED_MAX - 2);
    const create = () => api("POST", "/logship/jobs", { destination_conf: destinationConf(freshBucket().name) });
    expect((await create()).status).toBe(201);
    const { status, body } = await create();
    expect([status, body.errors]).toEqual([
      403,
      [
        {
          code: 1004,
          message:
            "creating a new job is not allowed: exceeded max jobs allowed: 250 are remembered, with reruns, and with deleted ones for 15 days or while they hold something",
        },
      ],
    ]);
    clock.advance(16 * DAY_MS);
    await control().forget(1_000);
    expect((await create()).status).toBe(201);
  });

  it("fit one call, each with as much in it as a job can have", async () => {
    setClock(NOON);
    const wide = "\u20ac";
    const answer = await api<{ id: number }>("POST", "/logship/jobs", {
      destination_conf: destinationConf(freshBucket().name),
      filter: JSON.stringify({
        where: { key: "ScriptName", operator: "in", value: [wide, "x".repeat(8_100)] },
      }),
      output_options: {
        batch_prefix: wide.repeat(4_096),
        batch_suffix: wide.repeat(4_096),
        field_delimiter: wide.repeat(4_096),
        record_delimiter: wide.repeat(4_096),
        record_template: `{{/*${wide.repeat(16_300)}*/}}`,
      },
    });
    expect([answer.status, answer.body.errors]).toEqual([201, []]);
    const { id } = answer.body.result;
    // Sealing makes 4,096 characters of three bytes a third longer, and the path may be as long.
    const windows = Array.from({ length: 200 }, (_, i) => ({ fromMs: NOON + 2 * i, untilMs: NOON + 2 * i + 1 }));
    const change = { windows, destination: "s".repeat(16_500), path: wide.repeat(4_000) };
    await fill(id, JOBS_REMEMBERED_MAX - 1, change);
    // The bound of opt-outs is 1.8 MB.
    await runInDurableObject(control(), (_control, { storage: { sql } }) => {
      for (let i = 0; i < 380; i++) {
        sql.exec(
          "INSERT INTO function_setting (name, logging, windows, switched_version, modified_ms) VALUES (?, NULL, ?, 1, ?)",
          `${wide.repeat(250)}${i}`,
          JSON.stringify(windows.slice(0, 90)),
          NOON,
        );
      }
    });
    const snapshot = await control().configSince("");
    expect(snapshot.jobs).toHaveLength(JOBS_REMEMBERED_MAX);
    if (snapshot.jobs === null) throw new Error("nothing has changed");
    expect(JSON.stringify(snapshot.optOuts).length).toBeGreaterThan(1_700_000);
    const job = snapshot.jobs.at(-1);
    expect(JSON.stringify(job).length).toBeGreaterThan(60_000);
    // To a shard that asks, and to one that is told.
    expect(await traceLog(env.TRACE_LOG, 1).configure(snapshot)).toBe(snapshot.state);
    expect((await control().join(1, "")).jobs).toHaveLength(JOBS_REMEMBERED_MAX);
  });
});
