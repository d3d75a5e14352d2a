/** What the tests of faults check on a shipper and its store. */
import type { ApiClient } from "../../tools/client/api-client.ts";
import { until } from "../../tools/until.ts";
import type { Expectation, Report } from "../support/audit.ts";
import { jobLedgerFaults, type LeftOut, objectListFaults, type Sums } from "../support/ledger-audit.ts";
import { assertClean, type Oracle } from "../support/oracle.ts";
import type { HostileStore } from "./hostile-store.ts";
import { type IsolatedShipper, pathOf, RECEIVED_WITHIN_MS } from "./shipper.ts";

/** How long a working store may take to receive all pending events, in ms. */
const DRAINED_WITHIN_MS = 30_000;

type JobId = { readonly id: number };

/** Waits until a job's log has this many events. @throws Error if it gets more. */
export async function receivedBy(api: ApiClient, { id }: JobId, count: number): Promise<void> {
  const { received } = await until({
    what: `the log of job ${id} to have ${count}`,
    withinMs: RECEIVED_WITHIN_MS,
    look: () => api.jobLedger(id),
    enough: (ledger) => ledger.received >= count,
  });
  if (received !== count) throw new Error(`the log of job ${id} has ${received}, not ${count}`);
}

/** Requests uploads until nothing is pending and no error is left. */
export async function drain(api: ApiClient, { id }: JobId): Promise<void> {
  await until({
    what: `job ${id} to have delivered everything`,
    withinMs: DRAINED_WITHIN_MS,
    look: async () => {
      await api.flush(id);
      return { ...(await api.jobLedger(id)), ...(await api.job(id)) };
    },
    enough: ({ pending, error_message }) => pending === 0 && error_message === null,
  });
}

export interface Shipped {
  readonly store: HostileStore;
  /** All buckets the job has shipped to; the path is that of the first one. */
  readonly buckets: readonly [string, ...string[]];
}

/** Audits the job's objects in the store. */
export function auditStore(
  { store, buckets }: Shipped,
  oracle: Oracle,
  { id }: JobId,
  options: Partial<Expectation> = {},
): Report {
  const contents = buckets.flatMap((bucket) => store.contents(bucket));
  return oracle.audit(id, contents, { path: pathOf(buckets[0]), ...options });
}

/**
 * Checks that a job has delivered everything: the store has every owed event once, no object was
 * overwritten with other bytes, and the ledger and the list of objects agree.
 * @throws Error that says what is wrong.
 */
export async function assertDelivered(
  api: ApiClient,
  shipped: Shipped,
  oracle: Oracle,
  job: JobId,
  { expectation = {}, leftOut = {} }: { expectation?: Partial<Expectation>; leftOut?: LeftOut } = {},
): Promise<Report> {
  const { store, buckets } = shipped;
  const report = auditStore(shipped, oracle, job, expectation);
  assertClean(report);
  const contents = buckets.flatMap((bucket) => store.contents(bucket));
  const faults = [
    ...jobLedgerFaults(await api.jobLedger(job.id), report, leftOut),
    ...objectListFaults(await api.objects(job.id), contents),
    ...buckets.flatMap((bucket) => store.overwritten(bucket)).map((key) => `${key} was written twice, and differs`),
  ];
  if (faults.length > 0) throw new Error(`job ${job.id}:\n${faults.join("\n")}`);
  return report;
}

/**
 * Checks that a job has delivered everything to a receiver: each record is there, and again at most
 * as often as the ledger says, or never if the receiver tells repeats.
 * @throws Error that says what is wrong.
 */
export async function assertReceived(
  api: ApiClient,
  store: HostileStore,
  name: string,
  oracle: Oracle,
  { id }: JobId,
  { tellsRepeats }: { tellsRepeats: boolean },
): Promise<Report & { doubled: number }> {
  const report = oracle.audit(id, store.received(name), { areBodies: true });
  assertClean({ ...report, duplicated: [] });
  const doubled = report.duplicated.reduce((sum, { keys }) => sum + keys.length - 1, 0);
  const ledger = await api.jobLedger(id);
  const faults = jobLedgerFaults(ledger, { records: report.records - doubled }, {});
  const most = tellsRepeats ? 0 : ledger.resent_in_doubt;
  if (doubled > most) faults.push(`${doubled} records are there again, and ${most} are accounted for`);
  if (faults.length > 0) throw new Error(`job ${id}:\n${faults.join("\n")}`);
  return { ...report, doubled };
}

/** Saved searches with an alert: for everything, and for failures. */
const SEARCHES = ["", "status:5xx OR -outcome:ok"];

/** Calls the API where the client has no method. @throws Error for any answer but success. */
async function called<T>(shipper: IsolatedShipper, path: string, body?: object): Promise<T> {
  const response = await fetch(`${shipper.url}/client/v4/accounts/local${path}`, {
    headers: { authorization: `Bearer ${shipper.token}`, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as T & { errors: unknown };
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer.errors)}`);
  return answer;
}

/** Saves searches whose counts {@link sumsOf} reads. @returns their ids. */
export async function saveSearches(shipper: IsolatedShipper): Promise<number[]> {
  const ids: number[] = [];
  for (const query of SEARCHES) {
    const search = { name: "a", query, alert: { threshold: 1e6, over: "5m" } };
    ids.push((await called<{ result: { id: number } }>(shipper, "/logship/searches", search)).result.id);
  }
  return ids;
}

/** What is counted of the events of a function, as the API says it. */
export async function sumsOf(shipper: IsolatedShipper, name: string, searches: readonly number[]): Promise<Sums> {
  const total = async (id: number | undefined): Promise<number> => {
    const answer = await called<{ result: { counts: { total: number } } }>(shipper, `/logship/searches/${id}`);
    return answer.result.counts.total;
  };
  const { result: health } = await called<{ result: { total: { invocations: number; failed: number } } }>(
    shipper,
    `/functions/scripts/${name}/health`,
  );
  const { result: problems, result_info } = await called<{
    result: { count: number }[];
    result_info: { other_records: number };
  }>(shipper, "/logship/problems?per_page=1000");
  const [all, failed] = searches;
  return {
    invocations: health.total.invocations,
    errors: health.total.failed,
    problems: problems.reduce((sum, { count }) => sum + count, result_info.other_records),
    searches: { all: await total(all), failed: await total(failed) },
  };
}

/**
 * Records of CSV whose values are plain strings and numbers.
 * @throws SyntaxError for any other line.
 */
export function readCsv(raw: Uint8Array, fields: readonly string[]): Record<string, unknown>[] {
  const lines = new TextDecoder("utf-8", { fatal: true }).decode(raw).split("\n");
  if (lines.pop() !== "") throw new SyntaxError("the last line is not ended by a newline");
  return lines.map((line) => {
    const values = JSON.parse(`[${line}]`) as unknown[];
    if (values.length !== fields.length) throw new SyntaxError(`${values.length} values, not ${fields.length}`);
    return Object.fromEntries(fields.map((name, i) => [name, values[i]]));
  });
}
