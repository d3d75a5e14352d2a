/** A logship of its own with a made incident set, and what its alerts say. */
import { copyFileSync, mkdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Stage } from "../../../test/browser/browser.ts";
import { HostileStore } from "../../../test/e2e/hostile-store.ts";
import { firstPort } from "../../../test/e2e/ports.ts";
import { type IsolatedShipper, jobInto } from "../../../test/e2e/shipper.ts";
import { rule } from "../../../test/support/s3-script.ts";
import { ROOT } from "../../paths.ts";
import { startDevServer } from "../../servers/dev-server.ts";
import type { LocalServer } from "../../servers/local-server.ts";
import { until } from "../../until.ts";
import type { Told } from "./alerts.ts";
import { type Made, madeFrom, NOTHING_YET, type Plan, POISON, poisonAt, SLOW, Truth } from "./events.ts";

/** Where alerts go. */
export class Webhook implements AsyncDisposable {
  readonly told: Told[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        const said = JSON.parse(Buffer.concat(pieces).toString()) as Omit<Told, "atMs">;
        this.told.push({ ...said, atMs: Date.now() });
        response.writeHead(204).end();
      });
    });
  }

  /**
   * Added on its page: messages then know the address of the dashboard.
   * @param stage null: there is no browser, and it is added through the API.
   */
  static async of(shipper: IsolatedShipper, stage: Stage | null): Promise<Webhook> {
    const webhook = new Webhook();
    await new Promise<void>((resolve) => webhook.#server.listen(0, "127.0.0.1", resolve));
    const { port } = webhook.#server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/hook`;
    if (stage === null) {
      await shipper.call("PUT", "/logship/webhook", { url });
      return webhook;
    }
    const page = await stage.signedIn();
    await page.goto("/alerts/webhook");
    await page.getByLabel("Address", { exact: true }).fill(url);
    await page.locator("main form button.primary").click();
    await page.getByText("whsec_").first().waitFor();
    await page.context().close();
    return webhook;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Fields that tell where something was thrown. */
const EXTRA = ["ExceptionStacks", "LogErrors"];

/** Of the service. */
export const SETTINGS = { EXTRA_FIELDS: EXTRA.join() };

const RECEIVED_WITHIN_MS = 90_000;

/** The window of that alert, in ms. */
export const SLOW_OVER_MS = 300_000;

/** What its owner calls slow. */
const SLOW_SEARCH = {
  name: "Payments are slow",
  query: `worker:${SLOW}`,
  alert: { measure: { op: "p95", of: "took" }, threshold: 1_000, over: "5m" },
};

/** Trace items that `tail()` is given at once. */
const AT_ONCE = 500;

export interface Jobs {
  readonly all: number;
  readonly refused: number;
  readonly poisoned: number;
}

/** Of what happened before it was sent: the last minutes. */
export const QUICK_MS = 240_000;

/** The service, what was sent to it, and what is wrong with its stores. */
export class IncidentWorld implements AsyncDisposable {
  readonly truth = new Truth();
  plan: Plan = NOTHING_YET;
  readonly shipper: IsolatedShipper;
  readonly jobs: Jobs;
  /** Of the saved search with an alert on the slow Worker. */
  readonly searchId: number;
  readonly #store: HostileStore;
  readonly #tracer: LocalServer;
  /** Until when all was sent. */
  #sentMs: number;
  #refusedMs = Number.NaN;

  private constructor(
    shipper: IsolatedShipper,
    store: HostileStore,
    tracer: LocalServer,
    jobs: Jobs,
    searchId: number,
    sinceMs: number,
  ) {
    this.shipper = shipper;
    this.searchId = searchId;
    this.#tracer = tracer;
    this.jobs = jobs;
    this.#store = store;
    this.#sentMs = sinceMs;
  }

  /**
   * @param shipper with {@link SETTINGS}; it is left as it is when this world ends.
   * @param sinceMs from when on there are events.
   */
  static async on(shipper: IsolatedShipper, sinceMs: number): Promise<IncidentWorld> {
    const [store, tracer] = await Promise.all([HostileStore.start(), startTracer(shipper)]);
    const { api } = shipper;
    const fields = { output_options: { field_names: ["*", ...EXTRA] } };
    const create = async (body: object): Promise<number> => (await api.createJob({ ...body })).id;
    const jobs = {
      all: await create(jobInto("all", { name: "archive", ...fields })),
      refused: await create(store.job("refusing", { name: "copy for audit" })),
      poisoned: await create(store.job("receiver-https-partner", { name: "to the partner" })),
    };
    const { id } = await shipper.call<{ id: number }>("POST", "/logship/searches", SLOW_SEARCH);
    return new IncidentWorld(shipper, store, tracer, jobs, id, sinceMs);
  }

  /** Sends what has happened since the last time. */
  async send(nowMs: number): Promise<void> {
    const made = madeFrom(this.plan, this.#sentMs, nowMs);
    this.#sentMs = nowMs;
    for (let i = 0; i < made.length; i += AT_ONCE) await this.#trace(made.slice(i, i + AT_ONCE), nowMs);
    if (Number.isNaN(this.#refusedMs) && this.#store.faults("refusing") > 0) this.#refusedMs = nowMs;
  }

  /** Sends all incidents at once, as of the last {@link QUICK_MS}. */
  async happened(nowMs: number): Promise<void> {
    this.plan = { ...NOTHING_YET, brokenMs: nowMs - 60_000, slowMs: nowMs - 55_000, stoppedMs: nowMs - 150_000 };
    await this.send(nowMs);
    await this.breakStores(nowMs);
  }

  /** From now on one store refuses all, and a receiver one record, which is sent. */
  async breakStores(nowMs: number): Promise<void> {
    this.#store.server.script("refusing", [rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    this.#store.server.script("receiver-https-partner", [
      rule({ do: "answer", status: 400 }, { method: "POST", holds: POISON }),
    ]);
    await this.#trace([poisonAt(nowMs)], nowMs);
  }

  async #trace(made: readonly Made[], nowMs: number): Promise<void> {
    const body = JSON.stringify(made.map(({ item }) => item));
    const { status } = await fetch(this.#tracer.url, { method: "POST", body });
    if (status !== 204) throw new Error(`the tracer answers ${status}: ${this.#tracer.output.slice(-1_000)}`);
    this.truth.add(made, nowMs);
  }

  /** Waits until the status has findings of these kinds. */
  async found(...kinds: readonly string[]): Promise<void> {
    await until({
      what: `the status to have ${kinds.join()}`,
      withinMs: RECEIVED_WITHIN_MS,
      look: async () => {
        const { findings } = await this.shipper.call<{ findings: { kind: string }[] }>("GET", "/logship/status");
        return findings.map(({ kind }) => kind);
      },
      enough: (there) => kinds.every((kind) => there.includes(kind)),
    });
  }

  /** When a store first refused, in ms since the epoch; NaN: none did. */
  refusedMs(): number {
    return this.#refusedMs;
  }

  /** When a record was first put on hold. */
  async heldMs(): Promise<number> {
    const held = await this.shipper.call<{ set_aside_at: string }[]>("GET", "/logship/set-aside");
    return Math.min(...held.map(({ set_aside_at }) => Date.parse(set_aside_at)));
  }

  mendStores(): void {
    this.#store.letGo("refusing");
    this.#store.letGo("receiver-https-partner");
  }

  /** Waits until all that was sent can be asked for. */
  async settled(): Promise<void> {
    const { api } = this.shipper;
    await until({
      what: `${this.truth.all.length} events to be received`,
      withinMs: RECEIVED_WITHIN_MS,
      look: () => api.jobLedger(this.jobs.all),
      enough: ({ received }) => received === this.truth.all.length,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tracer.stop();
    await this.#store[Symbol.asyncDispose]();
  }
}

async function startTracer(shipper: IsolatedShipper): Promise<LocalServer> {
  const [from, to] = [join(ROOT, "tools/bench/questions/tracer"), join(shipper.folder, "tracer")];
  mkdirSync(to);
  for (const file of ["index.js", "wrangler.jsonc"]) copyFileSync(join(from, file), join(to, file));
  const tracer = await startDevServer({
    ...{ config: join(to, "wrangler.jsonc"), script: join(to, "index.js") },
    ...{ port: firstPort("producer"), persistTo: join(to, "state"), registry: shipper.registry },
  });
  await until({
    what: "the tracer to find the service",
    withinMs: RECEIVED_WITHIN_MS,
    look: async () => tracer.output,
    enough: (output) => output.includes("[connected]"),
  });
  return tracer;
}
