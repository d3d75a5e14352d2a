/** The function host. docs/functions.md: what it is for, and what functions can do here. */
import { env as hostEnv, WorkerEntrypoint } from "cloudflare:workers";
import type { LocalModule, StoredCode } from "../../../src/state/functions/local-types.ts";
import { functionName, toFunction, toVisitor } from "./boundary.ts";
import { Loading } from "./loading.ts";
import { type Logged, logLines } from "./log-lines.ts";

/**
 * Most that is shown of an error, in UTF-16 units: the function chooses its text. All of it is in
 * the record.
 */
const ERROR_MAX = 2_000;

interface HostEnv {
  LOADER: WorkerLoader;
  /** What lines of the host begin with. Functions do not know it. Absent: nothing is printed. */
  LINE_MARK?: string;
  /** `LocalFunctions` of the shipper. */
  SHIPPER: {
    version(name: string): Promise<string | null>;
    code(name: string): Promise<StoredCode | null>;
    traced(name: string, items: readonly object[]): Promise<void>;
  };
}

const loading = new Loading((hostEnv as unknown as HostEnv).LOADER);

/**
 * Takes the trace events of one function: hands them to the shipper, and prints what was logged.
 */
export class Traces extends WorkerEntrypoint<HostEnv, { name: string }> {
  override async tail(items: TraceItem[]): Promise<void> {
    const { name } = this.ctx.props;
    // The runtime's own objects cannot be sent.
    const plain = JSON.parse(JSON.stringify(items)) as Logged[];
    const { LINE_MARK: mark } = this.env;
    if (mark !== undefined)
      for (const item of plain) for (const line of logLines(item)) console.log(`${mark} ${name} ${line}`);
    await this.env.SHIPPER.traced(name, plain);
  }
}

export default {
  async fetch(request, env, ctx) {
    const name = functionName(request.url);
    if (name === null)
      return say(
        404,
        "Uploaded Workers run here, each under a host name of its own: http://<script_name>.localhost:<port>/",
      );
    let version: string | null;
    try {
      version = await env.SHIPPER.version(name);
    } catch {
      return say(503, "logship, which keeps the Workers' code, does not answer.");
    }
    if (version === null) return say(404, `No Worker ${name} is uploaded.`);
    try {
      // After an upload in between, the newer code runs under the older version until the next
      // request.
      const asked = { name, version, code: () => workerCode(name, env, ctx) };
      return toVisitor(await loading.ask(asked, (stub) => stub.getEntrypoint().fetch(toFunction(request))));
    } catch (error) {
      return say(500, `The Worker ${name} failed. ${String(error).slice(0, ERROR_MAX)}`);
    }
  },
} satisfies ExportedHandler<HostEnv>;

async function workerCode(name: string, env: HostEnv, ctx: ExecutionContext): Promise<WorkerLoaderWorkerCode> {
  const stored = await env.SHIPPER.code(name);
  if (stored === null) throw new Error("It was deleted.");
  const { mainModule, compatibilityDate, compatibilityFlags, modules } = stored.code;
  return {
    mainModule,
    compatibilityDate,
    compatibilityFlags,
    modules: Object.fromEntries(modules.map((module) => [module.name, loadable(module)])),
    env: {},
    // No network: on loopback the shipper, its store and all other servers of this machine listen.
    globalOutbound: null,
    tails: [(ctx.exports as { Traces: (options: { props: { name: string } }) => Fetcher }).Traces({ props: { name } })],
  };
}

function loadable({ kind, bytes }: LocalModule): WorkerLoaderModule {
  switch (kind) {
    case "js":
      return { js: new TextDecoder().decode(bytes) };
    case "cjs":
      return { cjs: new TextDecoder().decode(bytes) };
    case "text":
      return { text: new TextDecoder().decode(bytes) };
    case "json":
      return { json: JSON.parse(new TextDecoder().decode(bytes)) };
    case "data":
      return { data: bytes.slice().buffer };
    case "wasm":
      return { wasm: bytes.slice().buffer };
  }
}

/** Plain text, so that no browser reads markup in it. */
function say(status: number, text: string): Response {
  return new Response(`${text}\n`, {
    status,
    headers: {
      "Content-Type": "text/plain; charset=utf-8",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    },
  });
}
