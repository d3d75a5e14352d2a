/**
 * Attachments over time, checked by the cron through the deployed handlers, at a platform with
 * other deployers.
 */
import { createScheduledController, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { FUNCTIONS_MAX } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import worker, { ControlPlane } from "../../../src/index.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import type { AttachmentFact } from "../../../src/state/functions/attachments.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { rowsWritten } from "../../support/runtime/rows-written.ts";
import { call, type Settings } from "../../web/api/harness.ts";
import { askAs, put, SCRIPTS, said, scriptedApi, THEIRS, UPSTREAM_API } from "../../web/api/scripted-platform.ts";

const MINUTE = 60_000;
const DAY_MS = 86_400_000;
const TOKEN = "upstream-token-0123456789abcdefghijklmno";
const SETTINGS = { UPSTREAM_API, UPSTREAM_TOKEN: TOKEN };

const self = { service: "logship" };

const control = () => controlPlane(env.CONTROL);
const facts = (): Promise<AttachmentFact[]> => control().attachments();
const states = async () => Object.fromEntries((await facts()).map(({ script, state }) => [script, state]));

let warns: MockInstance;
let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
  warns = vi.spyOn(console, "warn").mockImplementation(() => {});
});

/** The platform: the tail consumers of each script. */
class Theirs {
  readonly scripts = new Map<string, unknown>();
  /** Names of the requested scripts. */
  readonly asked: { url: string; init: RequestInit }[] = [];
  /** In place of the regular answer. */
  answer: ((name: string) => Response | Promise<Response>) | null = null;

  constructor() {
    vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
      this.asked.push({ url, init });
      const name = decodeURIComponent(url.slice(THEIRS.length + 1).split("/")[0] ?? "");
      if (this.answer !== null) return this.answer(name);
      if (new Headers(init.headers).get("authorization") !== `Bearer ${TOKEN}`) return said(null, 401);
      return this.scripts.has(name)
        ? said({ logpush: false, tail_consumers: this.scripts.get(name) })
        : Response.json({ success: false, result: null, errors: [{ code: 10_007, message: "" }] }, { status: 404 });
    });
  }

  /** Names requested since the last call. */
  takeAsked(): string[] {
    return this.asked.splice(0).map(({ url }) => decodeURIComponent(url.slice(THEIRS.length + 1).split("/")[0] ?? ""));
  }
}

/** Uploads through this service. */
async function upload(theirs: Theirs, name: string): Promise<void> {
  theirs.scripts.set(name, [self]);
  expect((await put(scriptedApi(said({})), undefined, name)).status).toBe(200);
}

/** The next run of the cron, five minutes later. */
async function cron(settings: object = SETTINGS): Promise<void> {
  clock.advance(5 * MINUTE);
  await worker.scheduled(createScheduledController(), { ...env, ...settings } as never);
}

/** Attachments as left by so many uploads. */
const fill = (names: readonly string[]): Promise<void> =>
  control().noteAttachments(names.map((name) => ({ name, sighting: { kind: "attached" }, askedMs: clock.nowMs() })));

const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `f-${String(i).padStart(4, "0")}`);

describe("a deployment that leaves us out", () => {
  it("is known within one run of the cron, with since when, and is over once it is put right", async () => {
    const theirs = new Theirs();
    await upload(theirs, "shop");
    await upload(theirs, "billing");
    await cron();
    expect(await states()).toEqual({ billing: "attached", shop: "attached" });
    theirs.scripts.set("shop", null);
    await cron();
    const at = clock.nowMs();
    expect((await facts())[1]).toEqual({
      script: "shop",
      state: "undone",
      sinceMs: at,
      checkedMs: at,
      why: `Cloudflare no longer lists this service among its tail consumers, as it did at ${new Date(at - 5 * MINUTE).toISOString()}`,
    });
    await cron();
    expect((await facts())[1]).toMatchObject({ state: "undone", sinceMs: at, checkedMs: at + 5 * MINUTE });
    expect((await call<Settings>("GET", `${SCRIPTS}/shop`)).body.result).toMatchObject({
      logging: "on",
      attachment: { state: "undone", since: new Date(at).toISOString() },
    });
    await upload(theirs, "shop");
    expect(await states()).toEqual({ billing: "attached", shop: "attached" });
    await cron();
    expect(await states()).toEqual({ billing: "attached", shop: "attached" });
    expect(warns).not.toHaveBeenCalled();
  });

  it("is put right by whoever deploys with the consumer in the project file, as the next run sees", async () => {
    const theirs = new Theirs();
    await upload(theirs, "shop");
    theirs.scripts.set("shop", []);
    await cron();
    theirs.scripts.set("shop", [{ service: "audit" }, self]);
    await cron();
    expect(await facts()).toMatchObject([{ state: "attached", sinceMs: clock.nowMs() }]);
  });

  it("is not looked for where logging is off, nor of a function that is forgotten", async () => {
    const theirs = new Theirs();
    for (const name of ["shop", "billing", "other"]) await upload(theirs, name);
    await call("PATCH", `${SCRIPTS}/shop/script-settings`, { logship: false });
    await askAs(scriptedApi(said(null)), "DELETE", `${SCRIPTS}/billing`);
    await cron();
    expect([theirs.takeAsked(), await states()]).toEqual([["other"], { other: "attached" }]);
    await call("PATCH", `${SCRIPTS}/shop/script-settings`, { logship: null });
    theirs.scripts.set("shop", []);
    await cron();
    expect(await states()).toEqual({ other: "attached", shop: "undone" });
  });

  it("is not the end of a function that was made again under its name, nor of one that is not", async () => {
    const theirs = new Theirs();
    for (const name of ["shop", "billing"]) await upload(theirs, name);
    theirs.scripts.clear();
    await cron();
    expect(await states()).toEqual({ billing: "gone", shop: "gone" });
    theirs.scripts.set("shop", []);
    await cron();
    expect(await states()).toEqual({ billing: "gone", shop: "undone" });
    clock.advance(31 * DAY_MS);
    await cron();
    expect(await states()).toEqual({ shop: "undone" });
  });

  it("is not made up of an answer that comes after the function was attached again", async () => {
    const theirs = new Theirs();
    await upload(theirs, "shop");
    theirs.answer = async (name) => {
      theirs.answer = null;
      clock.advance(1_000);
      await upload(theirs, name);
      return said({ tail_consumers: [] });
    };
    await cron();
    expect(await states()).toEqual({ shop: "attached" });
  });
});

describe("a platform that does not tell", () => {
  it("because it is down: what was attached is unknown, what was undone stays so, and each is tried again", async () => {
    const theirs = new Theirs();
    for (const name of ["shop", "billing"]) await upload(theirs, name);
    theirs.scripts.set("billing", []);
    await cron();
    const undoneMs = clock.nowMs();
    theirs.answer = () => Promise.reject(new Error(`connect ${TOKEN}`));
    await cron();
    await cron();
    const [billing, shop] = await facts();
    expect(billing).toMatchObject({ state: "undone", sinceMs: undoneMs, checkedMs: undoneMs });
    expect(billing?.why).toContain("; logship could not check again after ");
    expect(shop).toMatchObject({ state: "unknown", sinceMs: undoneMs + 5 * MINUTE, checkedMs: undoneMs });
    expect(shop?.why).toContain("Cloudflare's API could not be reached, or its answer broke off");
    theirs.answer = null;
    await cron();
    expect(await states()).toEqual({ billing: "undone", shop: "attached" });
    expect(warns.mock.calls.map(([line]) => line)).toEqual(
      Array(2).fill({
        message: "attachments could not be looked at",
        functions: 2,
        why: "Cloudflare's API could not be reached, or its answer broke off",
      }),
    );
  });

  it("never has the token in a line, an answer or a row, and is the only one who ever gets it", async () => {
    const infos = vi.spyOn(console, "info").mockImplementation(() => {});
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const theirs = new Theirs();
    const answers: (() => Response | Promise<Response>)[] = [
      () => said({ tail_consumers: [self], token: TOKEN }),
      () => Response.json({ success: false, errors: [{ code: 1, message: TOKEN }] }, { status: 403 }),
      () => Response.redirect(`https://evil.example/?${TOKEN}`, 302),
      () => new Response(TOKEN),
      () => Promise.reject(new Error(TOKEN)),
      () => Promise.reject(TOKEN),
    ];
    const seen: unknown[] = [];
    for (const answer of answers) {
      await upload(theirs, "shop");
      theirs.answer = answer;
      await cron();
      seen.push(await facts(), (await call("GET", SCRIPTS)).body, (await call("GET", "/logship/audit")).body);
    }
    const lines = [warns, infos, errors].flatMap((spy) => spy.mock.calls.map((args) => JSON.stringify(args)));
    expect(lines.length).toBeGreaterThan(5);
    expect(JSON.stringify([seen, lines])).not.toContain(TOKEN);
    expect(theirs.asked.map(({ url, init }) => [url, init.method, init.redirect])).toEqual(
      Array(answers.length).fill([`${THEIRS}/shop/script-settings`, "GET", "manual"]),
    );
  });
});

describe("many functions", () => {
  it("are looked at in turns, those that were not for longest first", async () => {
    const theirs = new Theirs();
    const names = many(200);
    await fill(names);
    for (const name of names) theirs.scripts.set(name, name === "f-0007" ? [] : [self]);
    const asked: string[] = [];
    for (let run = 0; run < 3; run++) {
      await cron();
      const these = theirs.takeAsked();
      expect(these.length).toBeLessThanOrEqual(84);
      asked.push(...these);
    }
    expect(new Set(asked).size).toBe(200);
    const undone = (await facts()).filter(({ state }) => state === "undone");
    expect(undone.map(({ script }) => script)).toEqual(["f-0007"]);
  });

  it("are remembered so many, and one more is said not to be; what nobody would miss makes room", async () => {
    const names = many(FUNCTIONS_MAX);
    await fill(names);
    await upload(new Theirs(), "one-more");
    expect(await control().attachment("one-more")).toBeNull();
    expect(warns.mock.calls).toEqual([
      [
        {
          message: "an attachment cannot be watched: there are too many",
          durable_object: "ControlPlane",
          max: FUNCTIONS_MAX,
        },
      ],
    ]);
    clock.advance(MINUTE);
    await control().setFunction("f-0003", { logging: "off" });
    await control().noteAttachments([{ name: "f-0005", sighting: { kind: "gone" }, askedMs: clock.nowMs() }]);
    await fill(["second", "third", "fourth", "f-0000"]);
    const known = await states();
    expect([known.second, known.third, known.fourth, known["f-0005"], known["f-0003"], known["f-0000"]]).toEqual([
      "attached",
      "attached",
      undefined,
      undefined,
      undefined,
      "attached",
    ]);
    expect(Object.keys(known)).toHaveLength(FUNCTIONS_MAX);
    expect(warns).toHaveBeenCalledTimes(2);
  });
});

describe("a run that dies", () => {
  it("before what it saw was noted leaves all as it was, and the next one sees it", async () => {
    const theirs = new Theirs();
    await upload(theirs, "shop");
    theirs.scripts.set("shop", []);
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(ControlPlane.prototype, "noteAttachments").mockImplementationOnce(() => {
      throw new Error("out of reach");
    });
    await cron();
    expect(await states()).toEqual({ shop: "attached" });
    expect(errors.mock.calls.map(([line]) => line)).toEqual([
      expect.objectContaining({ message: "a scheduled chore failed", chore: "attachments" }),
    ]);
    await cron();
    expect(await states()).toEqual({ shop: "undone" });
  });

  it("in the middle of noting has noted nothing", async () => {
    const theirs = new Theirs();
    await upload(theirs, "a");
    await upload(theirs, "b");
    const thrown = await runInDurableObject(control(), async (plane) => {
      const bad = { kind: "unheard of" } as never;
      const at = NOON + 5 * MINUTE;
      try {
        plane.noteAttachments([
          { name: "a", sighting: { kind: "detached" }, askedMs: at },
          { name: "b", sighting: bad, askedMs: at },
        ]);
      } catch {
        return true;
      }
      return false;
    });
    expect([thrown, await states()]).toEqual([true, { a: "attached", b: "attached" }]);
  });
});

it("is remembered of an upload that the platform has taken, though there are too many settings to add its own", async () => {
  const theirs = new Theirs();
  await runInDurableObject(control(), (_plane, { storage: { sql } }) => {
    for (const name of many(FUNCTIONS_MAX))
      sql.exec(
        "INSERT INTO function_setting (name, logging, windows, switched_version, modified_ms) VALUES (?, 'on', '[]', 0, 0)",
        name,
      );
  });
  expect((await put(scriptedApi(said({})))).status).toBe(403);
  theirs.scripts.set("shop", []);
  await cron();
  expect(await states()).toEqual({ shop: "undone" });
});

it("costs a row for each function that is looked at, and one for each upload", async () => {
  await fill(many(3));
  const rows = await runInDurableObject(control(), (plane, { storage }) => {
    const bill = rowsWritten(storage, /\battachment\b/);
    const askedMs = NOON + 5 * MINUTE;
    plane.noteAttachments(many(3).map((name) => ({ name, sighting: { kind: "attached" }, askedMs })));
    return bill();
  });
  expect(rows).toEqual({ "INSERT attachment": 3 });
});
