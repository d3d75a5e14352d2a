/**
 * `node tools/bench/questions.ts`: a made incident set, and an engineer on call who asks the twelve
 * questions of it in Chromium. Tells what each answer takes, whether it is true, and when alerts
 * came. It takes some ten minutes: all is in real time.
 */
import { launch, Stage } from "../../test/browser/browser.ts";
import { IsolatedShipper } from "../../test/e2e/shipper.ts";
import { argumentsOf } from "../command.ts";
import { pause } from "../until.ts";
import {
  type About,
  alertRows,
  failingFromMs,
  isOfCron,
  messagesOf,
  type Planted,
  silentFromMs,
  slowerFromMs,
  slowFromMs,
  strangers,
  type Told,
} from "./questions/alerts.ts";
import { BROKEN, NOTHING_YET, SLOW, TOGETHER, TOGETHER_MS } from "./questions/events.ts";
import { Player } from "./questions/player.ts";
import { AFTERWARDS, type Answer, played, QUESTIONS } from "./questions/twelve.ts";
import { IncidentWorld, QUICK_MS, SETTINGS, SLOW_OVER_MS, Webhook } from "./questions/world.ts";
import { table } from "./table.ts";

const USAGE = `usage: node tools/bench/questions.ts [options]

A made incident set, the twelve questions of an engineer on call, and when alerts came.

  --alerts the alerts alone, without a browser
  --quick  the questions alone, of events that came at once: what takes longer is not found
  --slow   also whether a Worker is told to be slower than usual: waits for the next hour (UTC),
           as what is usual is known from the hours before
  --over   waits until all is over, half an hour more`;

/** How often events are sent, in ms. */
const SEND_EVERY_MS = 2_000;

/** Of the platform's own cron, in ms. */
const CRON_EVERY_MS = 300_000;

const say = (line: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

/** Sends what happens, and runs the platform's cron, until then. @param cronMs its next run. */
async function goOn(world: IncidentWorld, untilMs: number, cronMs: number): Promise<number> {
  let nextMs = cronMs;
  while (Date.now() < untilMs) {
    if (Date.now() >= nextMs) {
      nextMs += CRON_EVERY_MS;
      await world.shipper.api.triggerScheduled();
    }
    await world.send(Date.now());
    await pause(SEND_EVERY_MS);
  }
  return nextMs;
}

/** Events before anything is wrong: the cron runs twice at least. */
const ORDINARY_MS = 130_000;

/** From the first incident to the questions: the cron, a minute to confirm, and a rest. */
const INCIDENTS_MS = CRON_EVERY_MS + 130_000;

/** From the first incidents to those of stores: no page is open by then. */
const LATER_MS = 140_000;

/** From the moment when five Workers begin to fail to the end of what is told of that. */
const TOGETHER_TOLD_MS = TOGETHER_MS + 60_000;

/** How long v43 runs before it is asked whether all is over. */
const FIXED_MS = 60_000;

/** Incidents end after a quarter of an hour, which begins when slots with failures have passed. */
const OVER_WITHIN_MS = 40 * 60_000;

const { values } = argumentsOf(
  USAGE,
  {
    alerts: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    slow: { type: "boolean", default: false },
    over: { type: "boolean", default: false },
  },
  false,
);

/** @param player null: there is no browser, and nothing is asked. */
async function ask(world: IncidentWorld, player: Player | null, questions: typeof QUESTIONS): Promise<Answer[]> {
  const answers: Answer[] = [];
  if (player === null) return answers;
  for (const question of questions) {
    const answer = await played(question, player, world);
    say(`${answer.number}. ${answer.asks} ${answer.fault ?? answer.answer}`);
    answers.push(answer);
  }
  return answers;
}

function answersTable(answers: readonly Answer[]): string {
  const rows = answers.map(({ number, asks, clicks, keys, screens, machineS, seconds, fault, isLong, answer }) => [
    ...[`${number} ${asks}`, `${clicks}`, `${keys}`, `${screens}`, machineS.toFixed(1), seconds.toFixed(1)],
    fault === null ? `${isLong ? "TOO LONG: " : ""}${answer.slice(0, 150)}` : `NO: ${fault.slice(0, 300)}`,
  ]);
  return table(["question", "clicks", "keys", "screens down", "s", "s by hand", "answer"], rows);
}

/** @param fixedMs when it was mended. */
function alertsTable(planted: readonly Planted[], told: readonly Told[], fixedMs: number): string {
  const rows = alertRows(planted, told).map((row) => [
    ...[row.name, clockOf(row.crossedMs), row.toldMs.map(clockOf).join(", ") || "never"],
    row.toldMs[0] === undefined ? "" : `${Math.round((row.toldMs[0] - row.crossedMs) / 1_000)} s`,
    ...[`${row.toldMs.length}`, `${row.beside}`, row.links.join(", ")],
    row.overMs === null ? "no" : `${Math.round((row.overMs - fixedMs) / 1_000)} s`,
  ]);
  const columns = ["incident", "threshold", "told", "after", "messages", "beside", "links", "over after its end"];
  return table(columns, rows);
}

function clockOf(ms: number): string {
  return Number.isNaN(ms) ? "?" : new Date(ms).toISOString().slice(11, 19);
}

const PROBLEM = "a new problem";

async function plantedIn(world: IncidentWorld): Promise<Planted[]> {
  const { truth, jobs, searchId } = world;
  const refusedMs = world.refusedMs();
  const heldMs = await world.heldMs();
  const ofJob =
    (id: number) =>
    ({ subject }: About) =>
      subject?.type === "job" && subject.id === id;
  return [
    {
      name: "v42 throws",
      crossedMs: failingFromMs(truth.all, BROKEN),
      is: ({ kind, subject }) => kind === "function_failing" && subject?.name === BROKEN,
    },
    {
      name: PROBLEM,
      crossedMs: truth.firstBroken().atMs,
      is: ({ kind, subject }) => kind === "problem_new" && subject?.name === BROKEN,
    },
    {
      name: "slow dependency",
      crossedMs: slowFromMs(truth.all, SLOW_OVER_MS),
      is: ({ kind, subject }) => kind === "search_alert" && subject?.id === searchId,
    },
    ...(values.slow
      ? [
          {
            name: "slower than usual",
            crossedMs: slowerFromMs(truth.all),
            is: ({ kind, subject }: About) => kind === "function_slow" && subject?.name === SLOW,
          },
        ]
      : []),
    { name: "a cron stops", crossedMs: silentFromMs(truth.lastCron().atMs), is: isOfCron },
    { name: "a store refuses", crossedMs: refusedMs, is: ofJob(jobs.refused) },
    { name: "a poison record", crossedMs: heldMs, is: ofJob(jobs.poisoned) },
  ];
}

function plantedTogether({ truth, plan: { togetherMs } }: IncidentWorld): Planted[] {
  const made = truth.all.filter(({ atMs }) => atMs < togetherMs + TOGETHER_MS);
  const failed = made.filter(({ hasFailed, atMs }) => hasFailed && atMs >= togetherMs);
  return TOGETHER.flatMap((name) => [
    {
      name: `together: ${name} throws`,
      crossedMs: failingFromMs(made, name),
      is: ({ kind, subject }: About) => kind === "function_failing" && subject?.name === name,
    },
    {
      name: `together: a problem of ${name}`,
      crossedMs: failed.find(({ worker }) => worker === name)?.atMs ?? Number.NaN,
      is: ({ kind, subject }: About) => kind === "problem_new" && subject?.name === name,
    },
  ]);
}

async function run(): Promise<number> {
  const { quick } = values;
  say("Starting logship with a folder of its own …");
  const startMs = Date.now();
  await using browser = values.alerts ? null : await launch();
  await using shipper = await IsolatedShipper.start({ settings: SETTINGS, ...(quick && { queueWaitS: 1 }) });
  const stage = browser === null ? null : new Stage(browser, shipper);
  await using world = await IncidentWorld.on(shipper, quick ? startMs - QUICK_MS : startMs);
  await using webhook = await Webhook.of(shipper, stage);
  say(shipper.url);
  if (quick) {
    await world.happened(Date.now());
  } else {
    say("Ordinary traffic …");
    const hourMs = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
    await goOn(world, Math.max(Date.now() + ORDINARY_MS, values.slow ? hourMs + 5_000 : 0), Number.POSITIVE_INFINITY);
    // The worst moment for incidents to begin: the cron has just looked.
    const cronMs = await goOn(world, Date.now() + 1, Date.now());
    const nowMs = Date.now();
    world.plan = { ...NOTHING_YET, brokenMs: nowMs + 5_000, slowMs: nowMs + 7_000, stoppedMs: nowMs + 5_000 };
    say("v42, a slow dependency, and a cron that stops …");
    await goOn(world, nowMs + LATER_MS, cronMs);
    say("A store that refuses, and a poison record …");
    await world.breakStores(Date.now());
    await goOn(world, nowMs + INCIDENTS_MS, cronMs);
  }
  await world.settled();
  if (quick) await world.found("function_failing", "parked", "objects_set_aside");
  const planted = await plantedIn(world);
  const page = (await stage?.signedIn({ viewport: { width: 1_440, height: 900 } })) ?? null;
  const player = page === null ? null : new Player(page);
  const answers = await ask(world, player, QUESTIONS);
  world.plan = { ...world.plan, fixedMs: Date.now() };
  world.mendStores();
  say("v43 …");
  const endMs = Date.now() + (quick ? 5_000 : FIXED_MS);
  await goOn(world, endMs, Number.POSITIVE_INFINITY);
  await world.settled();
  answers.push(...(await ask(world, player, AFTERWARDS)));
  await page?.context().close();
  if (!quick) {
    say("Five Workers fail at once …");
    const cronMs = await goOn(world, Date.now() + 1, Date.now());
    world.plan = { ...world.plan, togetherMs: Date.now() + 5_000 };
    await goOn(world, Date.now() + TOGETHER_TOLD_MS, cronMs);
  }
  const together = plantedTogether(world);
  if (player !== null) console.log(answersTable(answers));
  if (values.over) {
    say("Waiting until all is over …");
    const untilMs = Date.now() + OVER_WITHIN_MS;
    let cronMs = Date.now();
    // A problem is new for an hour after its last record.
    const ending = planted.filter(({ name }) => name !== PROBLEM);
    const isOver = (): boolean => alertRows(ending, webhook.told).every((row) => row.overMs !== null);
    while (!isOver() && Date.now() < untilMs) cronMs = await goOn(world, Date.now() + SEND_EVERY_MS, cronMs);
  }
  if (!quick) {
    console.log(`\n${alertsTable(planted, webhook.told, world.plan.fixedMs)}`);
    console.log(`\n${alertsTable(together, webhook.told, world.plan.togetherMs + TOGETHER_MS)}`);
    console.log(`\nMessages of those that began together: ${messagesOf(together, webhook.told)}`);
  }
  const others = strangers([...planted, ...together], webhook.told);
  if (others.length > 0) console.log(`\nAlso told: ${others.join("; ")}`);
  return answers.every(({ fault, isLong }) => fault === null && !isLong) ? 0 : 1;
}

// A signal alone would leave the processes behind; the exit handlers end them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
process.exit(await run());
