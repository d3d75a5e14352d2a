/** `npm run doctor -- --account`, against a stand-in of Cloudflare's API on this machine. */
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type Survey, survey, surveyLines } from "../../tools/account/survey.ts";
import { ROOT } from "../../tools/paths.ts";
import { Platform } from "../../tools/setup/platform.ts";

const ACCOUNT = "0123456789abcdef0123456789abcdef";
const TOKEN = "platform-token-that-is-never-printed";
const OURS = { tail_consumers: [{ service: "logship" }] };

type Answer = { result: unknown; result_info?: object } | { status: number; code: number; message: string };

interface Api {
  /** By path below the account's Workers; null: HTTP 404. */
  answer: (path: string, query: URLSearchParams) => Answer | null;
  readonly asked: string[];
  /** Of requests at once. */
  most: number;
  /** Answers of 429 to come, with this Retry-After. */
  throttled: { times: number; retryAfter: string | null };
}

async function serve(answer: Api["answer"]): Promise<Api & { base: string }> {
  const api: Api = { answer, asked: [], most: 0, throttled: { times: 0, retryAfter: null } };
  let now = 0;
  const server = createServer(async (request, response) => {
    api.most = Math.max(api.most, ++now);
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const path = pathname.replace(`/accounts/${ACCOUNT}/workers/`, "");
    api.asked.push(path);
    expect(request.headers.authorization).toBe(`Bearer ${TOKEN}`);
    // The others of a round come before the answer.
    await new Promise(setImmediate);
    const { throttled } = api;
    const found =
      throttled.times-- > 0 ? { status: 429, code: 971, message: "slow down" } : api.answer(path, searchParams);
    const fault = found === null ? { status: 404, code: 10_007, message: "not found" } : "code" in found ? found : null;
    response.writeHead(fault?.status ?? 200, {
      ...(fault?.status === 429 && throttled.retryAfter !== null && { "retry-after": throttled.retryAfter }),
    });
    response.end(JSON.stringify({ success: fault === null, errors: fault === null ? [] : [fault], ...found }));
    now -= 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return Object.assign(api, { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** An account with these Workers, previews by Worker, and user Workers by namespace. */
function account(
  workers: Record<string, object>,
  previews: Record<string, object[]> = {},
  spaces: Record<string, Record<string, object>> = {},
): Api["answer"] {
  return (path, query) => {
    const [, name = "", what] = /^(?:scripts|workers)\/([^/]+)\/([\w-]+)$/.exec(path) ?? [];
    if (path === "scripts") return { result: Object.keys(workers).map((id) => ({ id })) };
    if (what === "script-settings") return { result: { logpush: false, ...workers[name] } };
    if (what === "previews") {
      const all = previews[name] ?? [];
      const first = (Number(query.get("page")) - 1) * 50;
      const result = all.slice(first, first + 50).map((each, i) => ({ id: `${first + i}`, ...each }));
      return { result, result_info: { page: query.get("page"), per_page: 50 } };
    }
    const [, parent = "", id = ""] = /^workers\/([^/]+)\/previews\/(\d+)$/.exec(path) ?? [];
    if (id !== "") return { result: { id, ...previews[parent]?.[Number(id)], tail_consumers: [{ name: "logship" }] } };
    if (path === "dispatch/namespaces")
      return { result: Object.keys(spaces).map((namespace_name) => ({ namespace_name })) };
    const [, space = "", user] = /^dispatch\/namespaces\/([^/]+)\/scripts(?:\/([^/]+)\/settings)?$/.exec(path) ?? [];
    const users = spaces[space];
    if (users === undefined) return null;
    if (user !== undefined) return { result: { logpush: false, ...users[user] } };
    const [names, half] = [Object.keys(users), Math.ceil(Object.keys(users).length / 2)];
    const isSecond = query.get("cursor") === "second";
    return {
      result: (isSecond ? names.slice(half) : names.slice(0, half)).map((id) => ({ script: { id } })),
      result_info: { cursor: isSecond ? "" : "second" },
    };
  };
}

async function surveyed(api: { base: string }, pauses: number[] = [], except: string[] = []) {
  const platform = new Platform({
    ...{ base: api.base, token: TOKEN, fetch },
    pause: async (ms) => void pauses.push(ms),
  });
  const found: Survey = await survey({ platform, account: ACCOUNT, service: "logship", except });
  return { ...found, ...surveyLines(found), text: surveyLines(found).lines.join("\n") };
}

it("tells of every Worker, preview and user Worker whether it is attached, and why not", async () => {
  const api = await serve(
    account(
      {
        logship: {},
        shop: OURS,
        "shop-live": { logpush: true, tail_consumers: null },
        billing: { tail_consumers: [{ service: "logshp" }] },
        other: { tail_consumers: [{ service: "logship", environment: "staging" }, { service: "shop" }] },
      },
      {
        shop: [
          { name: "main", tail_consumers: [{ name: "logship" }] },
          { name: "fix/a", tail_consumers: [] },
          { name: "short in the list" },
        ],
      },
      {
        tenants: { acme: OURS, globex: {}, initech: { tail_consumers: [{ service: "gone" }, ...OURS.tail_consumers] } },
      },
    ),
  );
  const { text, isGood } = await surveyed(api);
  expect(text).toBe(`  logship                            shipper
  shop                               attached
  shop, preview "main"               attached
  shop, preview "fix/a"              SILENT: it has no consumer "logship"; previews do not inherit that of their Worker
  shop, preview "short in the list"  attached
  shop-live                          SILENT: logpush is true, but it has no consumer "logship"
  billing                            WRONG: its consumer "logshp" does not exist in this account
                                     its consumer is "logshp", not "logship"
  other                              SILENT: its consumer "logship" has environment "staging", which makes it a different service
  tenants/acme                       attached
  tenants/globex                     SILENT: it has no consumer "logship"
  tenants/initech                    WRONG: its consumer "gone" does not exist in this account

note: user Workers of the namespace tenants are attached one by one: "tail_consumers": [{ "service": "logship" }] in the metadata of each upload
5 Workers, 3 previews, 3 user Workers: 4 attached, 4 silent, 2 with a consumer that does not exist.`);
  expect(isGood).toBe(false);
});

it("finds all well, with those named that are not meant to ship, and none where the shipper is missing", async () => {
  const well = await surveyed(await serve(account({ logship: {}, shop: OURS, cache: {} })), [], ["cache"]);
  expect(well.text).toMatch(/cache {4}not meant to: by --except\n\n3 Workers: 1 attached, 0 silent, 1 not meant to\.$/);
  expect(well.isGood).toBe(true);
  const missing = await surveyed(await serve(account({ shop: OURS })));
  expect(missing.text).toContain('shop  WRONG: its consumer "logship" does not exist in this account');
});

it("reads all pages, a few calls at once", async () => {
  const workers = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`w${i}`, OURS]));
  const previews = Array.from({ length: 101 }, (_, i) => ({ name: `p${i}`, tail_consumers: [{ name: "logship" }] }));
  const users = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`u${i}`, OURS]));
  const api = await serve(account({ logship: {}, ...workers }, { w3: previews }, { tenants: users }));
  const { lines, isGood } = await surveyed(api);
  expect(lines.at(-1)).toBe("51 Workers, 101 previews, 9 user Workers: 160 attached, 0 silent.");
  expect(isGood).toBe(true);
  expect(api.most).toBeGreaterThan(2);
  expect(api.most).toBeLessThanOrEqual(6);
});

it("takes a list without pages once, though it is as long as a page", async () => {
  const workers = Object.fromEntries(Array.from({ length: 49 }, (_, i) => [`w${i}`, OURS]));
  const { rows } = await surveyed(await serve(account({ logship: {}, ...workers })));
  expect(rows).toHaveLength(50);
});

it("ends where a list answers with its last page whatever comes after it, or with one cursor again and again", async () => {
  const workers = account({ logship: {}, shop: OURS }, {}, { tenants: { acme: OURS, globex: OURS } });
  const previews = Array.from({ length: 100 }, (_, i) => ({
    ...{ id: `${i}`, name: `p${i}`, tail_consumers: [{ name: "logship" }] },
  }));
  const api = await serve((path, query) => {
    if (path === "workers/shop/previews") {
      const page = Math.min(2, Number(query.get("page")));
      return { result: previews.slice(50 * (page - 1), 50 * page), result_info: null as never };
    }
    const answer = workers(path, query);
    if (path === "dispatch/namespaces/tenants/scripts")
      return { ...answer, result_info: { cursor: "second" } } as never;
    return answer;
  });
  const { lines, isGood } = await surveyed(api);
  expect(lines.at(-1)).toBe("2 Workers, 100 previews, 2 user Workers: 103 attached, 0 silent.");
  expect(isGood).toBe(true);
});

it("takes null for no cursor and no total, and says in a sentence what is no list", async () => {
  const all = account({ logship: {}, shop: OURS });
  const api = await serve((path, query) => {
    const answer = all(path, query);
    return path === "scripts" ? ({ ...answer, result_info: { cursor: null, total_count: null } } as never) : answer;
  });
  expect((await surveyed(api)).isGood).toBe(true);
  for (const result of [{}, null, "x", [{ name: "no id" }]]) {
    api.answer = (path, query) => (path === "scripts" ? { result } : all(path, query));
    await expect(surveyed(api)).rejects.toThrow(/^Cloudflare refused GET .*\/scripts: its answer has another form/);
  }
});

it("shows no token, whatever Cloudflare repeats of it, and however it was pasted", async () => {
  const api = await serve(() => ({ status: 400, code: 7, message: `Unknown token ${TOKEN}` }));
  await expect(surveyed(api)).rejects.toThrow("Unknown token ****");
  for (const token of ["half-a-token\nand-the-rest", "“half-a-token”"]) {
    const platform = new Platform({ base: api.base, token, fetch });
    const failed = await survey({ platform, account: ACCOUNT, service: "logship", except: [] }).catch(String);
    expect(failed).toMatch(/^SetupRefused: Cloudflare does not recognise the token/);
  }
});

it("waits as long as Cloudflare asks, three times at most", async () => {
  const api = await serve(account({ logship: {}, shop: OURS }));
  const pauses: number[] = [];
  api.throttled = { times: 2, retryAfter: "7" };
  expect((await surveyed(api, pauses)).isGood).toBe(true);
  expect(pauses).toEqual([7_000, 7_000]);
  const busy = "Cloudflare accepts no more calls from this user for now.";
  for (const [times, retryAfter] of [
    [4, "7"],
    [1, "3600"],
    [1, null],
  ] as const) {
    api.throttled = { times, retryAfter };
    await expect(surveyed(api)).rejects.toThrow(busy);
  }
});

it("says what it could not check, each in a sentence, and checks the rest", async () => {
  const all = account({ logship: {}, shop: OURS, sick: OURS, odd: OURS }, {}, { tenants: { acme: OURS } });
  const refused = { status: 403, code: 10_000, message: "Authentication error" };
  const api = await serve((path, query) => {
    if (path === "scripts/sick/script-settings") return { status: 500, code: 0, message: "oops" };
    if (path === "scripts/odd/script-settings") return { result: { tail_consumers: "logship" } };
    if (path.endsWith("/previews") || path === "dispatch/namespaces/tenants/scripts") return refused;
    return all(path, query);
  });
  const { text, isGood } = await surveyed(api);
  const lacks = `the token lacks the permission "Workers Scripts: Read" for the account `;
  expect(text).toContain("shop     attached\n  sick     cannot be checked: Cloudflare answered GET");
  expect(text).toContain("odd      cannot be checked: Cloudflare's answer has another form than is known\n");
  expect(text.match(/previews cannot be listed: /g)).toHaveLength(1);
  expect(text).toContain(`cannot be checked: previews cannot be listed: ${lacks}`);
  expect(text).toContain(`cannot be checked: user Workers of the namespace tenants cannot be listed: ${lacks}`);
  expect(isGood).toBe(false);
  // An account without the product.
  api.answer = (path, query) => (path === "dispatch/namespaces" ? refused : account({ logship: {} })(path, query));
  const without = await surveyed(api);
  expect(without.isGood).toBe(true);
  expect(without.text).toContain("note: Cloudflare refuses to list dispatch namespaces, as for an account without");
});

it("is what `npm run doctor -- --account` prints, with its exit code, and never the token", async () => {
  const api = await serve(account({ logship: {}, shop: OURS, "esc\u001b[1m": {} }));
  const doctor = (...args: string[]) =>
    new Promise<{ code: unknown; output: string }>((resolve) => {
      const env = { ...process.env, CLOUDFLARE_API_BASE_URL: api.base, CLOUDFLARE_API_TOKEN: TOKEN };
      execFile(process.execPath, [join(ROOT, "tools/doctor.ts"), ...args], { env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, output: stdout + stderr }),
      );
    });
  const found = await doctor("--account", ACCOUNT);
  expect(found.code).toBe(1);
  expect(found.output).toMatch(new RegExp(`^The account ${ACCOUNT}, consumer "logship":\n\n {2}logship +shipper\n`));
  for (const never of ["\u001b", "platform-token"]) expect(found.output).not.toContain(never);
  expect((await doctor("--account", ACCOUNT, "--except", "esc\u001b[1m")).code).toBe(0);
  api.answer = () => ({ status: 401, code: 10_000, message: `Invalid access token ${TOKEN}` });
  const refused = await doctor("--account", ACCOUNT);
  expect(refused.code).toBe(1);
  expect(refused.output).not.toContain("platform-token");
  expect((await doctor("--account", "not-an-id")).code).toBe(2);
  expect((await doctor("--except", "shop", ".")).code).toBe(2);
});
