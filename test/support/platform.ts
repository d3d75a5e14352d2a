/**
 * A stand-in for the platform's API: as much of it as wrangler and the commands of this project
 * use, with its state in memory. Shapes and codes: https://developers.cloudflare.com/api
 */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { applyEdits, modify } from "jsonc-parser";
import { SHIPPER_CONFIG } from "../../tools/paths.ts";

export interface Asked {
  readonly method: string;
  /** Below `/client/v4`, without its query. */
  readonly path: string;
  readonly bearer: string | undefined;
  readonly body: string;
}

interface Call extends Asked {
  readonly query: URLSearchParams;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

export interface Failure {
  readonly status: number;
  readonly code: number;
  readonly message: string;
}

interface Consumer {
  readonly consumer_id: string;
  readonly script: string;
  readonly [key: string]: unknown;
}

interface Queue {
  readonly queue_id: string;
  readonly queue_name: string;
  settings: Readonly<Record<string, unknown>>;
  consumers: Consumer[];
}

interface Script {
  metadata: { readonly bindings: readonly Readonly<Record<string, unknown>>[]; readonly [key: string]: unknown };
  /** Of the newest upload, by name. */
  modules: ReadonlyMap<string, string>;
  readonly secrets: Map<string, string>;
  schedules: readonly unknown[];
  isOnWorkersDev: boolean;
  versions: number;
}

/** A copy of the project file as it is before a setup, whatever this checkout deploys to. */
export function writeNewProject(path: string): void {
  const text = readFileSync(SHIPPER_CONFIG, "utf8");
  const without = applyEdits(text, modify(text, ["account_id"], undefined, {}));
  writeFileSync(path, applyEdits(without, modify(without, ["vars", "ACCOUNT_ID"], "local", {})));
}

/** Of each upload after the first. */
export const VERSION = "00000000-0000-4000-8000-000000000001";

/** As much as a `fetch` gets from the platform. */
type Answer = { readonly result: unknown } | { readonly result: unknown[]; readonly list: true } | Failure;

const NOT_FOUND: Failure = { status: 404, code: 10_007, message: "not found" };

export class StandInPlatform {
  readonly account: string;
  accounts: { id: string; name: string }[];
  subdomain: string | null = "acme";
  readonly queues = new Map<string, Queue>();
  /** Keys of the objects of each. */
  readonly buckets = new Map<string, Set<string>>();
  readonly scripts = new Map<string, Script>();
  /** Workers that have another as their tail consumer. */
  tails: { producer: { service: string }; consumer: string }[] = [];
  readonly asked: Asked[] = [];
  /** What to answer instead. */
  refuse: (asked: Asked) => Failure | null = () => null;

  constructor(account = "0123456789abcdef0123456789abcdef") {
    this.account = account;
    this.accounts = [{ id: account, name: "Acme" }];
  }

  /** In place of the global one. */
  readonly fetch = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const request = new Request(url, init);
    const { pathname, searchParams: query } = new URL(url);
    const bytes = new Uint8Array(await request.arrayBuffer());
    const call: Call = {
      method: request.method,
      path: pathname.replace("/client/v4", ""),
      bearer: request.headers.get("authorization") ?? undefined,
      body: Buffer.from(bytes).toString(),
      query,
      bytes,
      type: request.headers.get("content-type") ?? "",
    };
    const { method, path, bearer, body } = call;
    this.asked.push({ method, path, bearer, body });
    const answer = this.refuse(call) ?? (await this.#answer(call));
    if ("code" in answer) {
      const errors = [{ code: answer.code, message: answer.message }];
      return Response.json({ success: false, errors, messages: [], result: null }, { status: answer.status });
    }
    const { result } = answer;
    const count = "list" in answer ? answer.result.length : 1;
    const result_info = { page: 1, per_page: 50, count, total_count: count, total_pages: 1 };
    return Response.json({ success: true, errors: [], messages: [], result, ...("list" in answer && { result_info }) });
  };

  /** The same over HTTP, on a port of its own. */
  async serve() {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = "GET", url = "", headers } = request;
      const body = method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(chunks) };
      const { authorization = "", "content-type": type = "" } = headers;
      const sent = { "content-type": type, ...(authorization !== "" && { authorization }) };
      const answer = await this.fetch(`http://localhost${url}`, { method, headers: sent, ...body });
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(await answer.text());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`,
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  async #answer(call: Call): Promise<Answer> {
    const { method, path } = call;
    if (path === "/accounts") return { result: this.accounts, list: true };
    if (path === "/memberships")
      return { result: this.accounts.map((account) => ({ id: "m", status: "accepted", account })), list: true };
    const own = `/accounts/${this.account}`;
    if (!path.startsWith(`${own}/`)) return { status: 404, code: 7003, message: "Could not route to that account" };
    const [area = "", second = "", ...rest] = path.slice(own.length + 1).split("/");
    if (area === "queues") return this.#queues(call, second, rest);
    if (area === "r2" && second === "buckets") return this.#buckets(call, rest);
    if (area !== "workers") return NOT_FOUND;
    switch (second) {
      case "subdomain":
        return this.subdomain === null ? NOT_FOUND : { result: { subdomain: this.subdomain } };
      case "services":
        return this.#service(rest[0] ?? "");
      // What today's wrangler asks for a Worker's place on workers.dev.
      case "workers": {
        const script = this.scripts.get(rest[0] ?? "");
        return script === undefined || method !== "GET" || rest.length > 1
          ? NOT_FOUND
          : { result: { name: rest[0], subdomain: { enabled: script.isOnWorkersDev, previews_enabled: false } } };
      }
      case "tails":
        return { result: this.tails.filter(({ consumer }) => consumer === rest[1]), list: true };
      case "scripts":
        return rest[0] === undefined
          ? { result: [...this.scripts].map(([id]) => this.#listed(id)), list: true }
          : await this.#scripts(call, rest[0], `${method} ${rest.slice(1).join("/")}`);
      default:
        return NOT_FOUND;
    }
  }

  #queues({ method, query, body }: Call, id: string, [below, consumerId]: string[]): Answer {
    const names = query.getAll("name");
    if (id === "" && method === "GET")
      return {
        result: [...this.queues.values()].filter(({ queue_name: name }) => names.length === 0 || names.includes(name)),
        list: true,
      };
    if (id === "") {
      const { queue_name, settings = {} } = JSON.parse(body);
      if (this.queues.has(queue_name))
        return { status: 409, code: 11_009, message: `Queue name '${queue_name}' is already taken` };
      const settled = { message_retention_period: 345_600, ...settings };
      this.queues.set(queue_name, { queue_id: randomUUID(), queue_name, settings: settled, consumers: [] });
      return { result: this.queues.get(queue_name) };
    }
    const queue = [...this.queues.values()].find(({ queue_id }) => queue_id === id);
    if (queue === undefined) return { status: 404, code: 11_000, message: "no such queue" };
    if (below === "consumers") return this.#consumers(queue, method, consumerId, body);
    if (method === "PATCH") queue.settings = JSON.parse(body).settings;
    if (method === "DELETE") {
      const isBound = [...this.scripts.values()].some(({ metadata }) =>
        metadata.bindings.some(({ queue_name }) => queue_name === queue.queue_name),
      );
      if (isBound) return { status: 400, code: 11_005, message: "queue is referenced by a Worker binding" };
      this.queues.delete(queue.queue_name);
    }
    return { result: queue };
  }

  #consumers(queue: Queue, method: string, id: string | undefined, body: string): Answer {
    if (method === "GET") return { result: queue.consumers, list: true };
    if (method === "DELETE") {
      queue.consumers = queue.consumers.filter(({ consumer_id }) => consumer_id !== id);
      return { result: null };
    }
    const { script_name: script, ...more } = JSON.parse(body);
    if (method === "POST" && queue.consumers.length > 0)
      return { status: 409, code: 11_004, message: "workers.api.error.consumer_exists" };
    const consumer = { ...more, script, consumer_id: id ?? randomUUID() };
    queue.consumers = [consumer];
    return { result: consumer };
  }

  #buckets({ method, body }: Call, [name, below, ...key]: string[]): Answer {
    if (name === undefined) {
      const wanted = JSON.parse(body).name;
      if (this.buckets.has(wanted)) return { status: 409, code: 10_004, message: "bucket exists, and you own it" };
      this.buckets.set(wanted, new Set());
      return { result: { name: wanted } };
    }
    const objects = this.buckets.get(name);
    if (objects === undefined) return { status: 404, code: 10_006, message: "The specified bucket does not exist." };
    if (below === "objects" && method === "GET")
      return { result: [...objects].slice(0, 1_000).map((each) => ({ key: each })), list: true };
    if (below === "objects") objects.delete(decodeURIComponent(key.join("/")));
    else if (method === "DELETE") {
      if (objects.size > 0) return { status: 409, code: 10_008, message: "The bucket is not empty" };
      this.buckets.delete(name);
    }
    return { result: { name } };
  }

  #listed(id: string) {
    const migrations = this.scripts.get(id)?.metadata.migrations as { new_tag?: string } | undefined;
    return { id, tag: "t", migration_tag: migrations?.new_tag };
  }

  #service(name: string): Answer {
    if (!this.scripts.has(name)) return NOT_FOUND;
    const script = { last_deployed_from: "wrangler", ...this.#listed(name) };
    return { result: { id: name, default_environment: { environment: "production", script } } };
  }

  async #scripts(call: Call, name: string, what: string): Promise<Answer> {
    const { body } = call;
    const script = this.scripts.get(name);
    if (what === "PUT ") {
      await this.#upload(call, name);
      const id = VERSION.replaceAll("-", "");
      return { result: { id: name, etag: "e", deployment_id: id, has_modules: true, handlers: ["fetch"] } };
    }
    if (script === undefined) return NOT_FOUND;
    switch (what) {
      case "DELETE ":
        if ([...this.queues.values()].some(({ consumers }) => consumers.some((each) => each.script === name)))
          return { status: 400, code: 10_064, message: "script still in use as a consumer for a queue" };
        this.scripts.delete(name);
        return { result: null };
      case "POST versions": {
        await this.#upload(call, name);
        const resources = { script: { etag: "e" } };
        return {
          result: {
            id: VERSION,
            startup_time_ms: 1,
            metadata: { has_preview: false },
            number: script.versions,
            resources,
          },
        };
      }
      case "GET deployments":
        return { result: { deployments: [] } };
      case "POST deployments":
        return { result: { id: VERSION } };
      case "GET settings": {
        const secrets = [...script.secrets.keys()].map((secret) => ({ type: "secret_text", name: secret }));
        return { result: { ...script.metadata, bindings: [...script.metadata.bindings, ...secrets] } };
      }
      case "GET script-settings":
        return { result: { logpush: false, tail_consumers: [{ service: "logship" }] } };
      case "PATCH script-settings":
        return { result: JSON.parse(body) };
      case "PUT secrets": {
        const { name: secret, text } = JSON.parse(body);
        script.secrets.set(secret, text);
        return { result: { name: secret, type: "secret_text" } };
      }
      case "GET subdomain":
        return { result: { enabled: script.isOnWorkersDev, previews_enabled: false } };
      case "POST subdomain":
        script.isOnWorkersDev = JSON.parse(body).enabled;
        return { result: { enabled: script.isOnWorkersDev, previews_enabled: false } };
      case "GET schedules":
        return { result: { schedules: script.schedules } };
      case "PUT schedules":
        script.schedules = JSON.parse(body);
        return { result: { schedules: script.schedules } };
      default:
        return NOT_FOUND;
    }
  }

  async #upload({ bytes, type }: Call, name: string): Promise<void> {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    const sent = form.get("metadata");
    const metadata = JSON.parse(typeof sent === "string" ? sent : ((await sent?.text()) ?? "{}"));
    const modules = new Map<string, string>();
    for (const [part, value] of form) if (typeof value !== "string") modules.set(part, await value.text());
    const before = this.scripts.get(name);
    metadata.bindings = metadata.bindings.map((binding: { type: string; name: string }) =>
      binding.type === "inherit" ? before?.metadata.bindings.find((each) => each.name === binding.name) : binding,
    );
    const { migrations = before?.metadata.migrations } = metadata;
    this.scripts.set(name, {
      secrets: new Map(),
      schedules: [],
      // Of a new Worker it is on, unless the upload says otherwise.
      isOnWorkersDev: true,
      ...before,
      metadata: { ...metadata, migrations },
      modules,
      versions: (before?.versions ?? 0) + 1,
    });
  }
}
