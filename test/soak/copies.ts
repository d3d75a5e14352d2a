/** Replays of an episode, each into a bucket of its own. */

import { type Detail, runReplays } from "../operate/replay/shipped.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { asMember } from "../support/parquet-files.ts";
import { api, destinationConf } from "../support/runtime/api.ts";
import type { Bucket } from "../support/runtime/destinations.ts";
import { freshBucket } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";

const ALL = { since: "1970-01-01T00:00:00Z", until: "2199-01-01T00:00:00Z" };

/** Turns of a minute after which a replay must be over. */
const TURNS_MAX = 400;

interface Copy {
  job: number;
  id: string;
  bucket: Bucket;
}

export class Copies {
  readonly #world: World;
  readonly #all: Copy[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Asks for a replay of all of a job. @returns the answer's status. */
  async begin(job: number): Promise<number> {
    const bucket = freshBucket();
    const path = `/logship/jobs/${job}/replay`;
    const destination_conf = destinationConf(bucket.name, "copies/{DATE}");
    const { status, body } = await api<Detail>("POST", path, { ...ALL, destination_conf });
    if (status === 202) this.#all.push({ job, id: body.result.id, bucket });
    else await bucket.control.forget();
    return status;
  }

  async runAlarm(): Promise<void> {
    if (this.#all.length > 0) await runReplays();
  }

  /**
   * Waits for all of them. What a replay says it has copied is in its bucket, once; with what it
   * says of the rest, that is all that was planned.
   * @throws naming what is wrong.
   */
  async finish(): Promise<void> {
    for (const copy of this.#all) {
      const detail = await this.#ended(copy);
      if (detail === null) continue;
      const { planned, done, missing, damaged, failed, left } = detail;
      const sum = [done, missing, damaged, failed, left].reduce((records, each) => records + each.records, 0);
      const words = `replay ${copy.id} of job ${copy.job} (${detail.state})`;
      if (sum !== planned.records)
        throw new Error(`${words}: ${planned.records} were planned, and ${sum} accounted for`);
      if (detail.state !== "done") continue;
      const records = await recordsIn(copy.bucket);
      if (records !== done.records) throw new Error(`${words}: ${done.records} are done, and ${records} are there`);
    }
  }

  async forget(): Promise<void> {
    for (const { bucket } of this.#all) await bucket.control.forget();
  }

  /** null: its job is gone. */
  async #ended({ job, id }: Copy): Promise<Detail | null> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const { status, body } = await api<Detail>("GET", `/logship/jobs/${job}/replay/${id}`);
      if (status === 404) return null;
      if (status === 200 && body.result.ended_at !== null) {
        // One more run checks the copies that were under way at the end.
        await runReplays();
        return (await api<Detail>("GET", `/logship/jobs/${job}/replay/${id}`)).body.result;
      }
      this.#world.clock.advance(60_000);
      await runReplays();
    }
    throw new Error(`replay ${id} of job ${job} does not end`);
  }
}

async function recordsIn({ control }: Bucket): Promise<number> {
  let records = 0;
  for (const object of await control.contents()) {
    const { key, bytes } = await asMember(object);
    if (!key.endsWith(".log.gz")) continue;
    const member = readSingleMember(bytes);
    if (!member.ok) throw new Error(`${key}: ${member.reason}`);
    records += new TextDecoder()
      .decode(member.raw)
      .split("\n")
      .filter((line) => line !== "").length;
  }
  return records;
}
