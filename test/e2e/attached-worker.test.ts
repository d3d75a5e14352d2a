/** `npm run attach -- <project> --local`: Workers of one's own beside a running shipper. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pickPort } from "../../tools/servers/ports.ts";
import { until } from "../../tools/until.ts";
import { startCommand } from "./command.ts";
import { firstPort } from "./ports.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

const CODE = `export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/throw") throw new RangeError("out of tea");
    return new Response("tea for " + env.WHO + " " + env.SECRET);
  },
};
`;
const SHOP =
  '{ "name": "shop", "main": "src/index.js", "compatibility_date": "2026-09-01", "vars": { "WHO": "two" } }\n';
const BILLING =
  'name = "billing"\nmain = "src/index.js"\ncompatibility_date = "2026-09-01"\n\n[env.live]\nvars = { WHO = "live" }\ntail_consumers = [{ service = "logship" }, { service = "alerts" }]\n';

let shipper: IsolatedShipper;
let folder: string;

beforeAll(async () => {
  // Nothing is uploaded, so nothing has to listen there.
  const port = await pickPort(firstPort("host"));
  shipper = await IsolatedShipper.start({ queueWaitS: 1, settings: { LOCAL_FUNCTIONS: `http://localhost:${port}` } });
  folder = join(shipper.folder, "projects");
  const files = { "shop/wrangler.jsonc": SHOP, "billing/wrangler.toml": BILLING, "shop/.dev.vars": "SECRET=sugar\n" };
  for (const [path, text] of Object.entries({ ...files, "shop/src/index.js": CODE, "billing/src/index.js": CODE })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
});

afterAll(() => shipper?.[Symbol.asyncDispose]());

function attach(...args: string[]) {
  const env = { INIT_CWD: folder, WRANGLER_REGISTRY_PATH: shipper.registry };
  return startCommand("tools/attach.ts", [...args, "--local"], env);
}

it("runs two at once: an exception has its Worker's name and its outcome, and nothing is left", async () => {
  const job = await shipper.api.createJob(jobInto("local"));
  const [shop, billing] = [attach("shop"), attach("billing", "--env", "live")];
  const url = async (command: ReturnType<typeof attach>): Promise<string> => {
    await command.said("Press Ctrl-C");
    return /Worker {3}(http:\/\/localhost:\d+)\//.exec(command.output())?.[1] ?? "";
  };
  const [shopUrl, billingUrl] = [await url(shop), await url(billing)];
  expect(shopUrl).not.toBe(billingUrl);
  expect(await (await fetch(`${shopUrl}/`)).text()).toBe("tea for two sugar");
  expect(await (await fetch(`${billingUrl}/`)).text()).toBe("tea for live undefined");
  expect((await fetch(`${shopUrl}/throw`)).status).toBe(500);

  writeFileSync(join(folder, "shop/src/index.js"), CODE.replace("tea for", "coffee for"));
  await until({
    what: "the edit to run",
    withinMs: RECEIVED_WITHIN_MS,
    look: async () => (await fetch(`${shopUrl}/edited`)).text(),
    enough: (text) => text === "coffee for two sugar",
  });

  const wanted = ["billing-live ok /", "shop exception /throw out of tea", "shop ok /"];
  await until({
    what: "the records",
    withinMs: RECEIVED_WITHIN_MS,
    look: async () => {
      await shipper.api.flush(job.id);
      return ((await shipper.recordsBelow("local")) as TraceRecord[]).map(lineOf);
    },
    enough: (lines) => wanted.every((line) => lines.filter((each) => each === line).length === 1),
  });

  for (const each of [shop, billing]) {
    each.process.kill("SIGINT");
    expect(await each.ended).toBe(0);
    await each.processesGone();
  }
  expect(readdirSync(join(folder, "shop")).toSorted()).toEqual([".dev.vars", "src", "wrangler.jsonc"]);
  expect(readFileSync(join(folder, "billing/wrangler.toml"), "utf8")).toBe(BILLING);
  expect(existsSync(join(folder, "billing/.wrangler"))).toBe(false);
});

it("says in one sentence what is missing", async () => {
  const command = startCommand("tools/attach.ts", ["shop", "--local"], {
    INIT_CWD: folder,
    WRANGLER_REGISTRY_PATH: join(folder, "none"),
  });
  expect(await command.ended).toBe(1);
  expect(command.output()).toBe(
    'shop/wrangler.jsonc: "logship" does not run on this machine: run npm start first, in another terminal\n',
  );
});

interface TraceRecord {
  readonly ScriptName: string;
  readonly Outcome: string;
  readonly Event: { readonly Request: { readonly URL: string } };
  readonly Exceptions: readonly { readonly message: string }[];
}

function lineOf({ ScriptName, Outcome, Event, Exceptions }: TraceRecord): string {
  const { pathname } = new URL(Event.Request.URL);
  return [ScriptName, Outcome, pathname, ...Exceptions.map(({ message }) => message)].join(" ");
}
