/**
 * `npm run demo`: a sample function and a client send events, the shipper puts them into a bucket,
 * and the bucket is read back. Everything runs on this machine, in its own state folder. `--once`
 * ends by itself: 0 if every event arrived exactly once, 1 if not.
 */
import { join } from "node:path";
import type { ApiClient } from "../client/api-client.ts";
import { type JobLedger, jobBalance } from "../client/api-results.ts";
import { command, onlyOptions } from "../command.ts";
import { ROOT, shown } from "../paths.ts";
import { type BuiltWorker, buildWorker, startDevServer } from "../servers/dev-server.ts";
import { type Foreground, portWords, runInForeground } from "../servers/foreground.ts";
import type { LocalServer } from "../servers/local-server.ts";
import {
  type LocalShipper,
  shipInto,
  shipperLines,
  showAll,
  showNew,
  startLocalShipper,
} from "../servers/local-shipper.ts";
import { type UntilOptions, until } from "../until.ts";
import { faultsOf, postedEvents, SAMPLE_NAME, sampleSchedules, sampleVisits, type Trigger } from "./events.ts";

const FOLDER = "demo";
/**
 * In ms. tail() gathers for up to 2 s and the queue for up to 10 s; the rest is for slow machines.
 */
const RECEIVED_WITHIN_MS = 60_000;
const DELIVERED_WITHIN_MS = 60_000;

type Say = Foreground["say"];

/** Folder of the state of each run. */
const STATES = join(ROOT, ".wrangler/demo");
const SAMPLE_CONFIG = join(ROOT, "tools/demo/sample/wrangler.jsonc");

interface Running extends Pick<Foreground, "say" | "state"> {
  readonly shipper: LocalShipper;
  readonly sample: LocalServer;
}

/** @throws Error with wrangler's output if one of them does not start. */
async function start(foreground: Foreground): Promise<Running> {
  const { say, state } = foreground;
  const building = buildWorker(SAMPLE_CONFIG, join(state, "sample"));
  try {
    const shipper = await startLocalShipper(foreground, SAMPLE_NAME);
    const sample = await startSample(await building, shipper, foreground);
    return { shipper, sample, say, state };
  } finally {
    // The first error is what counts, but the build must not go on writing.
    await building.catch(() => {});
  }
}

/**
 * Start the shipper first: events without a running consumer are lost. The function is built, as
 * `wrangler dev` swallows exceptions when it runs from source.
 */
async function startSample(
  built: BuiltWorker,
  { server: shipper, registry }: LocalShipper,
  { state, signal, say, keep }: Foreground,
): Promise<LocalServer> {
  const port = shipper.port + 1;
  say(`Starting the sample Worker ${SAMPLE_NAME}, with logship as its tail consumer …`);
  const sample = await startDevServer({
    ...built,
    port,
    persistTo: join(state, "sample-state"),
    registry,
    logFile: join(state, "sample.log"),
    signal,
  });
  keep("the sample Worker", sample);
  await until({
    what: "the sample Worker to find logship",
    withinMs: 15_000,
    look: async () => sample.output.includes("logship [connected]"),
    enough: Boolean,
  });
  say(`The sample Worker answers on ${portWords(sample, port)}.`);
  return sample;
}

/** @returns faults in words, none if all is well; and the keys in the bucket. */
async function runMainJob({
  shipper: { api, bucket },
  sample,
  say,
}: Running): Promise<{ faults: string[]; keys: Set<string> }> {
  const job = await shipInto(FOLDER, "demo", api, say);
  const faults: string[] = [];
  const expected = [...(await askSample(sample.url, faults, say)), ...(await postEvents(api, say))];
  say(`Waiting for the queue (12 s at most) until the job's ledger shows ${expected.length} received …`);
  await ledgerUntil(api, job, faults, say, {
    what: `the ledger to show ${expected.length} received`,
    withinMs: RECEIVED_WITHIN_MS,
    enough: ({ received }) => received >= expected.length,
  });
  say(`Triggering the schedule: GET ${api.scheduledUrl}`);
  await api.triggerScheduled();
  await ledgerUntil(api, job, faults, say, {
    what: "the ledger to show nothing pending",
    withinMs: DELIVERED_WITHIN_MS,
    enough: ({ pending }) => pending === 0,
  });

  say("Reading the bucket back, with signed S3 GETs. Times are UTC.");
  const read = await showNew(bucket, FOLDER, new Set());
  const arrived = read.flatMap(({ records }) => records);
  faults.push(...faultsOf(expected, arrived), ...ledgerFaults(await api.jobLedger(job), expected.length));
  const { error_message } = await api.job(job);
  if (error_message !== null) faults.push(`the job says: ${error_message}`);
  console.log();
  if (faults.length === 0)
    say(`All ${expected.length} events arrived, each exactly once, and the ledger says the same.`);
  else say(["Some events did not arrive as expected:", ...faults.map((fault) => `         - ${fault}`)].join("\n"));
  return { faults, keys: new Set(read.map(({ key }) => key)) };
}

/**
 * Sends requests as visitors would, and runs the sample's crons. @returns what must be shipped for
 * them.
 */
async function askSample(url: string, faults: string[], say: Say): Promise<string[]> {
  const visits = sampleVisits(url);
  const visited = await trigger(visits, faults);
  say(
    `Sent ${visits.length} requests to the sample Worker: two throw, one fails after the answer, one logs 121 lines.`,
  );
  say("They cause two RPC calls, a queue batch, and an alarm of a durable object.");
  const schedules = sampleSchedules(url);
  const runs = await trigger(schedules, faults);
  say(`Triggered both of its crons, one of which throws: GET ${schedules[0]?.url}`);
  return [...visited, ...runs];
}

async function trigger(triggers: readonly Trigger[], faults: string[]): Promise<string[]> {
  for (const { url, status } of triggers) {
    const response = await fetch(url);
    await response.arrayBuffer();
    if (response.status !== status) faults.push(`GET ${url}: the answer was ${response.status}, not ${status}`);
  }
  return triggers.flatMap(({ ships }) => ships);
}

/** Sends events of a function elsewhere, over HTTP. @returns what must be shipped for them. */
async function postEvents(api: ApiClient, say: Say): Promise<string[]> {
  const posted = postedEvents(Date.now());
  const accepted = await api.postEvents(
    posted.map(({ event }) => event),
    { ndjson: true, gzip: true },
  );
  say(`POST /events: ${accepted} events of another Worker, as gzipped NDJSON; one is from yesterday.`);
  return posted.map(({ ships }) => ships);
}

/** Waits for the ledger. A timeout is a fault; what did arrive is still shown. */
async function ledgerUntil(
  api: ApiClient,
  job: number,
  faults: string[],
  say: Say,
  wait: Pick<UntilOptions<JobLedger>, "what" | "withinMs" | "enough">,
): Promise<void> {
  try {
    await until({ ...wait, look: () => api.jobLedger(job) });
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
  }
  const { received, pending, delivered } = await api.jobLedger(job);
  say(`The ledger: ${received} received, ${pending} pending, ${delivered} delivered.`);
}

function ledgerFaults(ledger: JobLedger, expected: number): string[] {
  const { received, accountedFor } = jobBalance(ledger);
  return [
    ...(received === accountedFor ? [] : [`the ledger does not balance: ${JSON.stringify(ledger)}`]),
    ...(ledger.delivered === expected ? [] : [`the ledger shows ${ledger.delivered} delivered, not ${expected}`]),
  ];
}

function sayWhereThingsAre({ shipper, sample, state }: Running): void {
  const lines = [
    "",
    "  Where things are:",
    ...shipperLines(shipper),
    `    Sample  ${sample.url}: /orders/1, /checkout, /report, /newsletter, /prices/tea, /parcels/1, /reservations/tea`,
    `    State   ${shown(state)}: removed at the end; logs are shipper.log and sample.log there`,
    "",
  ];
  console.log(lines.join("\n"));
}

/** Shows what else arrives, until the interruption. */
async function stay({ shipper: { api, bucket, signIn }, sample }: Running, keys: Set<string>): Promise<never> {
  const lines = [
    "",
    "  Both keep running. Send the sample more requests; they are shipped, and shown here, within 45 s:",
    `    curl ${sample.url}/checkout`,
    "  or sooner, after the 12 s in the queue, by triggering the schedule:",
    `    curl '${api.scheduledUrl}'`,
    `  See it all in the dashboard: ${signIn}`,
    "  Press Ctrl-C to stop.",
  ];
  console.log(lines.join("\n"));
  return showAll(bucket, FOLDER, keys);
}

const USAGE = `usage: npm run demo [-- --once]

A sample Worker and a client send events, logship puts them into a bucket on this machine, and the
bucket is read back. Ctrl-C ends it.

  --once  ends by itself: exit code 0 if every event arrived exactly once, 1 if not`;

await command(USAGE, { once: { type: "boolean", default: false } }, async ({ values: { once }, positionals }) => {
  onlyOptions(positionals);
  let shownKeys = new Set<string>();
  const exitCode = await runInForeground<Running>({
    name: "The demo",
    states: STATES,
    start,
    work: async (running) => {
      sayWhereThingsAre(running);
      const { faults, keys } = await runMainJob(running);
      shownKeys = keys;
      return faults.length === 0 ? 0 : 1;
    },
    ...(!once && { stay: (running) => stay(running, shownKeys) }),
  });
  // Not `process.exitCode`: connections and timers of interrupted work would keep it alive.
  process.exit(exitCode);
});
