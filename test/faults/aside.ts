/** What is set aside, and how it is sent again. */
import { expect } from "vitest";
import type { Minted } from "../support/oracle.ts";
import { api } from "../support/runtime/api.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { arrive, controlOf, countsOf, PUTS, pass } from "./stores.ts";

const DAY_MS = 86_400_000;

/** A message, or an object, of which `job` and `records` are. */
interface Aside {
  id: string;
  kind: string;
  job: number;
  records: number;
  why: string;
  why_not: string | null;
}

interface Sent {
  jobs: number[];
  gone_jobs: number[];
  events: number;
  routed: number;
  not_enabled: number;
  not_routed: number;
}

export const listed = async (): Promise<Aside[]> => (await api<Aside[]>("GET", "/logship/set-aside")).body.result;

/** The objects of a job that are set aside. */
export const asideOf = async ({ id }: WorldJob) => (await listed()).filter(({ job }) => job === id);

export const resend = (id: string) => api<Sent>("POST", `/logship/set-aside/${id}/resend`);

/** The id of the only thing that is set aside. @throws if there is not exactly one. */
export async function only(): Promise<string> {
  const [aside, ...others] = await listed();
  if (aside === undefined || others.length > 0) throw new Error(`${others.length + (aside ? 1 : 0)} are set aside`);
  return aside.id;
}

/** Sends everything again until the list is empty, as the user would. */
export async function resendAll(): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    for (const { id } of await listed()) await resend(id);
    if ((await listed()).length === 0) return;
  }
  throw new Error(`still set aside: ${JSON.stringify(await listed())}`);
}

/** What was taken last is a dead letter, as after a hundred attempts, and set aside. */
export async function giveUp(world: World): Promise<HeldMessage> {
  const message = world.queue.held.at(-1);
  if (message === undefined) throw new Error("nothing is in the queue");
  message.dead = true;
  message.dueMs = world.clock.nowMs();
  await world.deliverDue();
  world.injected();
  expect((await world.accountCounts()).set_aside).toBeGreaterThan(0);
  return message;
}

/** Advances whole days, with one run of the alarms and the cron in each. */
export async function days(world: World, count: number): Promise<void> {
  for (let day = 0; day < count; day++) {
    world.clock.advance(DAY_MS);
    await world.runAlarms();
    await world.runCron();
  }
}

/** An object that its store has refused for itself. */
export interface Refused {
  job: WorldJob;
  id: string;
  events: Minted[];
}

/** A job with two objects at its store, and one that the store refuses. */
export async function refused(world: World): Promise<Refused> {
  const job = await world.createJob();
  const minted = world.mint(30, { days: 3 });
  await arrive(world, minted);
  const tooLarge = { ...PUTS, keyIncludes: "/21001121/" };
  await controlOf(job).script([rule({ do: "answer", status: 413, code: "EntityTooLarge" }, tooLarge)]);
  await pass(world);
  expect(await countsOf(job)).toMatchObject({ delivered: 20, set_aside: 10 });
  return { job, id: await only(), events: minted.filter(({ day }) => day === "21001121") };
}
