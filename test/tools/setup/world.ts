/** An account and a Worker that answers in it, without processes or sockets. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { bindingsOf } from "../../../tools/setup/compare.ts";
import { Platform } from "../../../tools/setup/platform.ts";
import { readProject } from "../../../tools/setup/project.ts";
import { SetupRefused } from "../../../tools/setup/refusals.ts";
import { type Outside, runCheck, runSetup, type SetupOptions } from "../../../tools/setup/run.ts";
import { readSecrets, writeSecrets } from "../../../tools/setup/secrets-file.ts";
import { runTeardown, type TeardownOptions } from "../../../tools/setup/teardown.ts";
import { StandInPlatform, writeNewProject } from "../../support/platform.ts";

export const WORKER_URL = "https://logship.acme.workers.dev";
const BASE = "https://platform.test/client/v4";

interface Job {
  readonly id: number;
  readonly destination_conf: string;
  readonly [key: string]: unknown;
}

/** `before`: the call never arrives. `after`: it is carried out, and its answer is lost. */
export interface Break {
  readonly call: number;
  readonly when: "before" | "after";
}

export class World {
  readonly platform = new StandInPlatform();
  readonly jobs: Job[] = [];
  canary: { state: string; why: string | null } = { state: "ok", why: null };
  readonly folder = mkdtempSync(join(tmpdir(), "logship-setup-"));
  readonly config = join(this.folder, "wrangler.jsonc");
  readonly secretsPath = join(this.folder, ".deployed.env");
  readonly said: string[] = [];
  /** All calls, to the platform and to the Worker. */
  readonly calls: string[] = [];
  readonly answers: string[] = [];
  breakAt: Break | null = null;
  #nowMs = 0;

  constructor() {
    writeNewProject(this.config);
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  readonly fetch = async (url: string, init: RequestInit = {}): Promise<Response> => {
    this.calls.push(`${init.method ?? "GET"} ${url.replace(BASE, "").replace(/\?.*/, "")}`);
    const isBroken = this.breakAt?.call === this.calls.length;
    const refused = () => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    if (isBroken && this.breakAt?.when === "before") throw refused();
    const answer = await (url.startsWith(BASE) ? this.platform.fetch(url, init) : this.#worker(url, init));
    if (isBroken) throw refused();
    return answer;
  };

  outside(): Outside {
    return {
      base: BASE,
      token: "platform-token",
      fetch: this.fetch,
      deploy: async (account) => {
        try {
          await this.#deploy(account);
        } catch (error) {
          throw new SetupRefused({ kind: "deploy_failed", output: String(error) });
        }
      },
      secrets: {
        name: ".deployed.env",
        read: () => readSecrets(this.secretsPath),
        write: (more) => writeSecrets(this.secretsPath, more),
        writeUrl: (url) => writeSecrets(this.secretsPath, {}, url),
      },
      config: this.config,
      say: (line) => void this.said.push(line),
      ask: this.answers.length === 0 ? null : async () => this.answers.shift() ?? "",
      now: () => this.#nowMs,
      pause: async (ms) => {
        this.#nowMs += ms;
      },
    };
  }

  setup(options: Partial<SetupOptions> = {}): Promise<void> {
    const defaults = { account: null, url: null, destination: null, newToken: false, isDry: false };
    return runSetup(this.outside(), { ...defaults, ...options });
  }

  check(): Promise<boolean> {
    return runCheck(this.outside(), null);
  }

  teardown(options: Partial<TeardownOptions> = {}): Promise<boolean> {
    const removeSecrets = () => rmSync(this.secretsPath, { force: true });
    const defaults = { account: null, deleteData: false, isDry: false, isConfirmed: true };
    return runTeardown({ ...this.outside(), removeSecrets }, { ...defaults, ...options });
  }

  /** All that lasts, without ids that are drawn. */
  state(): unknown {
    const { queues, buckets, scripts } = this.platform;
    return {
      queues: [...queues.values()].map(({ queue_id: _, consumers, ...queue }) => ({
        ...queue,
        consumers: consumers.map(({ consumer_id: __, ...consumer }) => consumer),
      })),
      buckets: [...buckets.keys()],
      scripts: [...scripts].map(([name, { secrets, versions: _, ...script }]) => ({
        name,
        ...script,
        secrets: [...secrets.keys()],
      })),
      jobs: this.jobs,
      config: readFileSync(this.config, "utf8"),
    };
  }

  /** The calls of `wrangler deploy` that change something. */
  async #deploy(account: string): Promise<void> {
    const project = readProject(readFileSync(this.config, "utf8"));
    const { name, queues, triggers, compatibility_date, compatibility_flags, limits } = project;
    const platform = new Platform({ base: BASE, token: "platform-token", fetch: this.fetch });
    const script = `/accounts/${account}/workers/scripts/${name}`;
    const form = new FormData();
    const metadata = { bindings: bindingsOf(project), compatibility_date, compatibility_flags, limits };
    form.set("metadata", JSON.stringify(metadata));
    await this.fetch(`${BASE}${script}`, { method: "PUT", body: form });
    await platform.call("POST", `${script}/subdomain`, { enabled: true });
    const found = (await platform.list(`/accounts/${account}/queues`)) as {
      queue_id: string;
      queue_name: string;
      consumers: { consumer_id: string }[];
    }[];
    for (const consumer of queues.consumers) {
      const queue = found.find(({ queue_name }) => queue_name === consumer.queue);
      const there = queue?.consumers[0]?.consumer_id;
      await platform.call(
        there === undefined ? "POST" : "PUT",
        `/accounts/${account}/queues/${queue?.queue_id}/consumers${there === undefined ? "" : `/${there}`}`,
        {
          type: "worker",
          script_name: name,
          ...(consumer.dead_letter_queue !== undefined && { dead_letter_queue: consumer.dead_letter_queue }),
          settings: {
            batch_size: consumer.max_batch_size,
            max_wait_time_ms: consumer.max_batch_timeout * 1_000,
            max_retries: consumer.max_retries,
            retry_delay: consumer.retry_delay,
            max_concurrency: consumer.max_concurrency,
          },
        },
      );
    }
    await platform.call(
      "PUT",
      `${script}/schedules`,
      triggers.crons.map((cron) => ({ cron })),
    );
  }

  /** As much of the Worker as a setup asks: it answers once it has its secrets. */
  async #worker(url: string, init: RequestInit): Promise<Response> {
    const script = this.platform.scripts.get("logship");
    if (!url.startsWith(WORKER_URL) || script === undefined) return new Response("nothing here", { status: 404 });
    if (url.includes("/sign-in?code=")) return new Response("a button");
    const answer = (status: number, result: unknown, message = "") =>
      Response.json(
        { success: status < 300, errors: status < 300 ? [] : [{ code: 1, message }], messages: [], result },
        { status },
      );
    if (script.secrets.size < 2) return answer(503, null, "ADMIN_TOKEN is missing");
    const headers = new Headers(init.headers);
    if (headers.get("authorization") !== `Bearer ${script.secrets.get("ADMIN_TOKEN")}`) return answer(401, null);
    const sent = typeof init.body === "string" ? JSON.parse(init.body) : {};
    const path = url.replace(/^.*\/logship\/?/, "");
    switch (`${init.method} ${path}`) {
      case "GET jobs":
        return answer(200, this.jobs);
      case "POST jobs":
        if (!/^(binding|objstore):/.test(sent.destination_conf)) return answer(400, null, "not writable");
        this.jobs.push({ id: this.jobs.length + 1, error_message: null, ...sent });
        return answer(201, this.jobs.at(-1));
      case "POST validate/destination/exists":
        return answer(200, {
          exists: this.jobs.some(({ destination_conf }) => destination_conf === sent.destination_conf),
        });
      case "POST jobs/1/flush":
        return answer(200, {});
      case "GET jobs/1/canary": {
        const key = "logs/00010101/canary/job-1.canary.gz";
        return answer(200, { enabled: true, last_ok: null, key, ...this.canary });
      }
      default:
        return answer(404, null, path);
    }
  }
}
