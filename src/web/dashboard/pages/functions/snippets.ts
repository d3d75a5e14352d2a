import { quoted } from "../../../../base/bytes.ts";

/** Snippets that attach a function. They contain no secret: a token is always `$TOKEN`. */

/** For a project file in JSONC. @param selfName this deployment's own name. */
export function attachJsonc(selfName: string): string {
  return `"tail_consumers": [{ "service": ${JSON.stringify(selfName)} }]`;
}

/** For a project file in TOML; JSON strings are valid TOML strings. */
export function attachToml(selfName: string, table = "tail_consumers"): string {
  return `[[${table}]]\nservice = ${JSON.stringify(selfName)}`;
}

/** For previews, which do not inherit it. @param selfName this deployment's own name. */
export function attachPreviewsJsonc(selfName: string): string {
  return `"previews": { ${attachJsonc(selfName)} }`;
}

/** Writes either. Names the service, as an environment may deploy under another name. */
export function attachCommand(selfName: string): string {
  return `npm run attach -- <project file> --service ${selfName}`;
}

export interface Framework {
  name: string;
  /** Where the consumer is named, and what is special. */
  words: string;
  /** To copy; absent: the line of the project file. */
  snippet?: (selfName: string) => string;
}

/** Where each framework takes tail consumers; docs/attach.md has the same. */
export const FRAMEWORKS: readonly Framework[] = [
  {
    name: "Vite plugin, React Router, TanStack Start, Astro, SvelteKit, Hono, Python",
    words:
      "The `wrangler.jsonc` or `wrangler.toml` that the build reads. The build generates the deployed file, so build again; for an environment, set `CLOUDFLARE_ENV`.",
  },
  {
    name: "Next.js by OpenNext",
    words:
      "The `wrangler.jsonc` beside `next.config`. Then: `npx opennextjs-cloudflare build && npx opennextjs-cloudflare deploy`.",
  },
  {
    name: "Nuxt and Nitro",
    words:
      "`nuxt.config.ts`, from which the build generates the project file; in `nitro.config.ts`, leave out the outer `nitro`. The generated file has no environments: run one build for each.",
    snippet: (selfName) =>
      `nitro: { cloudflare: { deployConfig: true, wrangler: { tail_consumers: [{ service: ${JSON.stringify(selfName)} }] } } }`,
  },
  {
    name: "cloudflare.config.ts",
    words: "In `cloudflare.config.ts`, in the section `worker`.",
    snippet: (selfName) => `tailConsumers: [{ worker: ${JSON.stringify(selfName)} }]`,
  },
  {
    name: "Terraform",
    words: "In `cloudflare_workers_script`, from version 5 of the provider.",
    snippet: (selfName) => `tail_consumers = [{ service = ${JSON.stringify(selfName)} }]`,
  },
  {
    name: "Pulumi",
    words: "In `cloudflare.WorkersScript`; in the beta `cloudflare.Worker`, write `name` instead of `service`.",
    snippet: (selfName) => `tailConsumers: [{ service: ${JSON.stringify(selfName)} }]`,
  },
  {
    name: "Pages",
    words:
      "Pages projects take no tail consumers. Move to Workers, or send events yourself, through a service binding or over HTTP (see below).",
  },
];

/** A service binding, and the call. */
export function bindingJsonc(selfName: string): string {
  return `"services": [{ "binding": "LOGSHIP", "service": ${JSON.stringify(selfName)}, "entrypoint": "Shipper" }]`;
}

export const BINDING_CALL = `const event = { scriptName: "shop", outcome: "ok", eventTimestamp: Date.now(), event: null };
await env.LOGSHIP.ship([event], { idempotencyKey: "order-42" });`;

/** One event over HTTP. @param origin of this deployment. */
export function eventsCurl(origin: string, accountId: string): string {
  return `curl -sS ${quoted(`${api(origin, accountId)}/logship/datasets/functions_trace_events/events`)} \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Idempotency-Key: order-42' \\
  -d '{"scriptName":"shop","outcome":"ok","eventTimestamp":'$(date +%s)'000,"event":{"request":{"url":"https://shop.example/","method":"GET"}}}'`;
}

/** An upload of a function. */
export function uploadCurl(origin: string, accountId: string): string {
  return `curl -sS -X PUT ${quoted(`${api(origin, accountId)}/functions/scripts/shop`)} \\
  -H "Authorization: Bearer $TOKEN" \\
  -F 'metadata={"main_module": "shop.js", "logship": true}' \\
  -F 'shop.js=@shop.js;type=application/javascript+module'`;
}

/** The admin token of local development. */
export const LOCAL_TOKEN = `TOKEN=$(sed -n 's/^ADMIN_TOKEN=//p' .dev.vars | tr -d '"')`;

/** A module to upload, as a file. */
export const SHOP_MODULE = `cat > shop.js <<'END'
export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    console.log("visited", pathname);
    if (pathname === "/throw") throw new Error("out of tea");
    return new Response("tea\\n");
  },
};
END`;

function api(origin: string, accountId: string): string {
  return `${origin}/client/v4/accounts/${encodeURIComponent(accountId)}`;
}
