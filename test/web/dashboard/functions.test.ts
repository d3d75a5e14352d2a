import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { runLocally, runnableOf } from "../../../src/state/local/runnable.ts";
import { lookAnew } from "../../operate/alerts/fresh.ts";
import { module, upload } from "../../state/functions/uploads.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { untouched } from "./browser-form.ts";
import { textOf, Visitor } from "./support.ts";

lookAnew();

let clock = { advance: (_ms: number): void => {}, nowMs: () => NOON };
beforeEach(() => {
  clock = setClock(NOON);
});

async function ship(scriptName: string, events: number, source?: string): Promise<void> {
  // The earlier switch is in force.
  clock.advance(1_000);
  const minted = new Oracle({ at: clock.nowMs(), name: scriptName }).mint(events, { scriptName });
  const { acked } = await deliver(pack(minted, clock.nowMs(), source === undefined ? {} : { source }));
  expect(acked).toHaveLength(1);
}

const patch = (name: string, body: object) =>
  call("PATCH", `/functions/scripts/${encodeURIComponent(name)}/script-settings`, body);

const loggingOf = async (name: string) =>
  (await call<{ logging: string }>("GET", `/functions/scripts/${encodeURIComponent(name)}`)).body.result?.logging;

const LOCAL = { settings: { LOCAL_FUNCTIONS: "http://localhost:8788" } };

async function text(path: string, visitor?: Visitor): Promise<string> {
  const page = await (visitor ?? (await Visitor.signedIn())).get(path);
  expect(page.status).toBe(200);
  return textOf(page.html);
}

describe("the functions", () => {
  it("say where there are none how to attach one", async () => {
    const { html } = await (await Visitor.signedIn()).get("/functions");
    expect(textOf(html)).toContain("No Workers yet");
    expect(html).toContain('href="/attach"');
  });

  it("are listed with their counts and switches", async () => {
    await createJob(freshBucket().name);
    await patch("noisy", { logship: false });
    await ship("shop", 5);
    await ship("noisy", 3);
    const { html } = await (await Visitor.signedIn()).get("/functions");
    expect(textOf(html)).toMatch(/noisy off .* 0 3 3 logging off/);
    expect(textOf(html)).toMatch(/shop on by default .* 5 0 events arrive/);
    expect(html).toMatch(/role="switch" aria-checked="false" aria-label="Logging of noisy"/);
    expect(html).toMatch(/role="switch" aria-checked="true" aria-label="Logging of shop"/);
  });

  it("say where their events came from, so that a claimed name is told from a traced one", async () => {
    await ship("bank", 1, "tail");
    await ship("bank", 1, "http:<b>ci</b>");
    await ship("shop", 1);
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get("/functions");
    expect(textOf(html)).toMatch(/bank .* events arrive http:<b>ci<\/b> , tail/);
    expect(html).not.toContain("<b>ci");
    const page = await text("/functions/bank", visitor);
    expect(page).toMatch(/http:<b>ci<\/b> as its sender says, last .* tail traced by Cloudflare, last/);
    for (const name of ["http:1", "http:2", "http:3"]) await ship("bank", 1, name);
    expect(await text("/functions", visitor)).toMatch(/http:3 , http:2 , http:1 \+2/);
    expect(await text("/functions/shop", visitor)).toContain("Sources unknown");
  });

  it("come in pages, and are found by a part of their names; a switch leads back to where it was", async () => {
    for (let i = 0; i < 53; i++) await patch(`shop-${`${i}`.padStart(2, "0")}`, { logship: true });
    const visitor = await Visitor.signedIn();
    const first = await text("/functions", visitor);
    expect(first).toContain("53 Workers 1 to 50 of 53");
    expect([first.includes("shop-49"), first.includes("shop-50")]).toEqual([true, false]);
    const second = await visitor.get("/functions?page=2");
    expect(textOf(second.html)).toContain("shop-52");
    expect(second.html).toContain('name="back" value="?page=2"');
    expect(await text("/functions?page=7", visitor)).toContain("This page is empty");
    expect(await text("/functions?page=-1", visitor)).toContain("1 to 50 of 53");
    const found = await text("/functions?name=OP-5", visitor);
    expect([found.includes("shop-51"), found.includes("shop-49"), found.includes("3 Workers")]).toEqual([
      true,
      false,
      true,
    ]);
    expect(await text("/functions?name=nothing", visitor)).toContain("No matching Workers");
    const fields = { logging: "off", back: "?name=OP-5&page=2", sure: "true" };
    expect((await visitor.submit("/functions/shop-51/logging", fields)).location).toBe("/functions?name=OP-5&page=2");
    // Never leads to another site.
    const evil = { ...fields, back: "https://evil.example/?page=https://evil.example" };
    expect((await visitor.submit("/functions/shop-51/logging", evil)).location).toBe("/functions");
  });

  it("are switched off, on, and left undecided", async () => {
    const visitor = await Visitor.signedIn();
    await ship("shop", 1);
    for (const logging of ["off", "on", "unset"]) {
      const answer = await visitor.submit("/functions/shop/logging", { logging, sure: "true" });
      expect([answer.status, answer.location]).toEqual([303, "/functions/shop"]);
      expect(await loggingOf("shop")).toBe(logging);
    }
    expect((await visitor.submit("/functions/shop/logging", { logging: "constructor" })).status).toBe(400);
    // A function without events then no longer exists.
    await patch("later", { logship: false });
    const undecided = await visitor.submit("/functions/later/logging", { logging: "unset" });
    expect([undecided.location, await loggingOf("later")]).toEqual(["/functions", undefined]);
  });

  it.each([
    ["/functions/shop/logging", { logging: "off", back: "?name=sh" }],
    ["/functions", { function: " shop", logging: "off" }],
  ])("are switched off after a question that says what is lost, and needs no script: %s", async (path, fields) => {
    const visitor = await Visitor.signedIn();
    await ship("shop", 1);
    const asked = await visitor.submit(path, { ...fields, other: "secret" });
    expect([asked.status, asked.location, await loggingOf("shop")]).toEqual([200, null, "unset"]);
    expect(textOf(asked.html)).toContain("then counts and drops events of this Worker");
    expect(asked.html).not.toContain("secret");
    expect(asked.html).toContain('<a href="/functions/shop">Cancel</a>');
    expect((await visitor.submit(path, untouched(asked.html, path))).status).toBe(303);
    expect(await loggingOf("shop")).toBe("off");
    for (const logging of ["on", "unset"])
      expect((await visitor.submit("/functions/shop/logging", { logging })).status).toBe(303);
  });

  it("are set before they are seen, or it is said what is wrong, beside what was sent", async () => {
    const visitor = await Visitor.signedIn();
    const set = await visitor.submit("/functions", { function: "later", logging: "off" });
    expect([set.status, set.location, await loggingOf("later")]).toEqual([303, "/functions/later", "off"]);
    for (const name of ["", "a/b", ".", ".."]) {
      const refused = await visitor.submit("/functions", { function: name, logging: "off" });
      expect(refused.status).toBe(400);
      expect(refused.html).toMatch(/<details open="">[\s\S]*aria-invalid="true"/);
      expect(refused.html).toContain(`value="${name}"`);
    }
  });

  it.each(["a b?c#d%2F&e", "ünïcode ✓", '"><img src=x>', "x".repeat(255)])(
    "of any name have a page that their list leads to: %s",
    async (name) => {
      const visitor = await Visitor.signedIn();
      await patch(name, { logship: true });
      const { html } = await visitor.get("/functions");
      const path = `/functions/${encodeURIComponent(name)}`.replaceAll("'", "&#39;");
      expect(html).toContain(`href="${path}"`);
      expect(html).not.toContain("<img");
      const page = await visitor.get(path);
      expect([page.status, textOf(page.html).includes(name.slice(0, 80))]).toEqual([200, true]);
      expect((await visitor.submit(`${path}/logging`, { logging: "off", sure: "true" })).location).toBe(path);
      expect(await loggingOf(name)).toBe("off");
    },
  );
});

describe("a function", () => {
  it("shows its counts, and what is found to be wrong with it", async () => {
    await createJob(freshBucket().name);
    await patch("noisy", { logship: false });
    await ship("noisy", 3);
    const page = await text("/functions/noisy");
    expect(page).toContain("Shipped 0 Dropped: logging off 3 Dropped: no job enabled 0");
    expect(page).toContain('Logging of "noisy" is off, but events arrive');
    expect(page).toContain("logship counts and drops events.");
  });

  it("that nobody knows is not found", async () => {
    const page = await (await Visitor.signedIn()).get("/functions/nobody");
    expect([page.status, textOf(page.html).includes("No such function")]).toEqual([404, true]);
  });

  it("is forgotten", async () => {
    const visitor = await Visitor.signedIn();
    await patch("shop", { logship: false });
    const asked = await visitor.submit("/functions/shop/forget");
    expect(textOf(asked.html)).toContain("Deletes its settings, counts and local code");
    expect(await loggingOf("shop")).toBe("off");
    const sure = untouched(asked.html, "/functions/shop/forget");
    expect((await visitor.submit("/functions/shop/forget", sure)).location).toBe("/functions");
    expect((await visitor.get("/functions/shop")).status).toBe(404);
    expect((await visitor.submit("/functions/shop/forget", { sure: "true" })).status).toBe(404);
  });

  it("that runs here says where it answers", async () => {
    const config = readConfig({ ...env, ...LOCAL.settings });
    if (!config.ok) throw new Error(config.faults.join());
    const runnable = runnableOf("shop", upload([module("index.js", "export default {}")]), config.config);
    if (runnable.kind === "refused") throw new Error(runnable.why);
    expect(await runLocally(env, runnable)).toBeNull();
    expect(await controlPlane(env.CONTROL).localVersion("shop")).not.toBeNull();
    await patch("shop", { logship: true });
    await patch("till", { logship: true });
    const visitor = await Visitor.signedIn(undefined, LOCAL);
    expect(await text("/functions/shop", visitor)).toContain("Runs here http://shop.localhost:8788/");
    expect(await text("/functions/till", visitor)).not.toContain("Runs here");
    expect(await text("/functions/shop")).not.toContain("Runs here");
  });
});

describe("who may what", () => {
  it("a reader of functions turns no switch, and is told what it takes", async () => {
    await patch("shop", { logship: true });
    const { secret } = await token(["functions:read"]);
    const visitor = await Visitor.signedIn({ token: secret });
    const { html } = await visitor.get("/functions");
    expect(html).not.toContain('role="switch"');
    expect(textOf(html)).not.toContain("Set logging before the first event");
    const one = await text("/functions/shop", visitor);
    expect(one).toContain("needs the permission functions:edit");
    expect(one).toContain("Problems of this Worker: needs the permission logs:read");
  });
});

describe("how to attach one", () => {
  it("is ready to copy, with this deployment's own name and address, and no token", async () => {
    const visitor = await Visitor.signedIn(undefined, { settings: { SELF_NAME: "my-shipper" } });
    const page = await text("/attach", visitor);
    expect(page).toContain('"tail_consumers": [{ "service": "my-shipper" }]');
    expect(page).toContain('[[tail_consumers]] service = "my-shipper"');
    expect(page).toContain("npm run attach -- <project file> --service my-shipper adds it");
    expect(page).toContain('"services": [{ "binding": "LOGSHIP", "service": "my-shipper", "entrypoint": "Shipper" }]');
    expect(page).toContain("https://logship.test/client/v4/accounts/test-account/logship/datasets/");
    expect(page).toContain("Authorization: Bearer $TOKEN");
    expect(page).not.toContain("Run one locally");
  });

  it("says in local development how to run one here, and where it answers", async () => {
    const page = await text("/attach", await Visitor.signedIn(undefined, LOCAL));
    expect(page).toMatch(/It answers at http:\/\/shop\.localhost:8788\/ :/);
    // The command needs a token and a file, both shown before it.
    expect(page).toMatch(/TOKEN=\$\(sed .* cat > shop\.js .* -F 'shop\.js=@shop\.js;/);
    expect(page).toContain("/functions/scripts/shop");
  });
});

describe("the rhythm of a function", () => {
  const kinds = async () =>
    (await call<{ kinds: { every_minutes: number | null }[] }>("GET", "/functions/scripts/shop/expect")).body.result
      .kinds;

  it("is on its page: kinds of events, what is expected of each, and forms to set and forget it", async () => {
    await createJob(freshBucket().name);
    const cron = { EventType: "scheduled", Event: { Cron: "*/10 * * * *", ScheduledTimeMs: NOON } };
    const minted = new Oracle({ at: NOON }).mint(2, { scriptName: "shop" });
    await deliver(
      pack(
        minted.map((each, n) => ({ ...each, event: { ...each.event, ...(n === 0 && cron) } })),
        NOON,
        { source: "tail" },
      ),
    );
    const visitor = await Visitor.signedIn();
    const expect_ = (fields: Record<string, string>) => visitor.submit("/functions/shop/expect", fields);
    const cronText = "cron */10 * * * *";
    const { html } = await visitor.get(`/functions/shop?kind=${encodeURIComponent(cronText)}`);
    expect(textOf(html)).toContain(cronText);
    expect(html).toContain(`name="kind" value="${cronText}"`);
    for (const [kind, sent] of [
      ["queue", { event_type: "queue", cron: null }],
      [cronText, { event_type: "scheduled", cron: "*/10 * * * *" }],
    ] as const) {
      expect((await expect_({ kind, every_minutes: "15" })).location).toBe("/functions/shop#rhythm");
      expect(await kinds()).toContainEqual(expect.objectContaining({ ...sent, every_minutes: 15, by: "set" }));
    }
    expect(await text("/functions/shop")).toMatch(/queue never every 15 min, as set/);
    await expect_({ kind: "queue" });
    expect((await kinds()).filter(({ every_minutes }) => every_minutes !== null)).toHaveLength(1);
    for (const wrong of [{ kind: "queue", every_minutes: "" }, { kind: "queue", every_minutes: "many" }, { kind: "" }])
      expect((await expect_(wrong)).status).toBe(400);
    expect((await kinds()).filter(({ every_minutes }) => every_minutes !== null)).toHaveLength(1);
    const { secret } = await token(["functions:read", "logs:read"]);
    const reader = await Visitor.signedIn({ token: secret });
    const shown = await reader.get("/functions/shop");
    expect(textOf(shown.html)).toContain("To set what is expected needs the permission logs:edit.");
    expect(shown.html).not.toContain('action="/functions/shop/expect"');
  });
});

describe("the health of a function", () => {
  /** Events that end so. */
  async function ended(outcome: string, events: number, name = "checkout"): Promise<void> {
    clock.advance(1_000);
    const minted = new Oracle({ at: clock.nowMs(), name: outcome }).mint(events, { scriptName: name, outcome });
    await deliver(pack(minted, clock.nowMs()));
  }

  it("is on its page: how many failed, how long they took, and the records and problem of each error", async () => {
    await createJob(freshBucket().name);
    await ended("ok", 3);
    await ended("exceededCpu", 1);
    const { html } = await (await Visitor.signedIn()).get("/functions/checkout");
    const said = textOf(html);
    expect(said).toContain("Requests 4 Failed 25 % Median");
    expect(said).toContain("4 invocations in the last 6 hours, 25 % failed.");
    expect(said).toContain("1 request failed, 0 responses were 5xx. Outcomes: 3 ok , 1 exceededCpu .");
    expect(said).toMatch(/Duration per 5 minutes .*median .*, p95 .*, p99 .*, in the last 6 hours\./);
    const [, href = ""] = /href="(\/search\?[^"]*)"><time/.exec(html) ?? [];
    const { searchParams } = new URL(href.replaceAll("&amp;", "&"), "http://logship.test");
    const since = Date.parse(searchParams.get("since") ?? "");
    expect(since).toBe(clock.nowMs());
    expect(Object.fromEntries(searchParams)).toMatchObject({
      function: "checkout",
      until: "2100-11-20 12:00:02.001 UTC",
    });
    // It is the only record of its moment, and open.
    const example = await (await Visitor.signedIn()).get(href.replaceAll("&amp;", "&"));
    expect(example.html.match(/<details class="record"[^>]*>/g)).toEqual([
      '<details class="record" name="record" open="">',
    ]);
    const [, problem = ""] = /href="(\/problems\/[0-9a-f]{16})"/.exec(html) ?? [];
    expect(await text(problem)).toContain("exceededCpu");
    const hour = await text("/functions/checkout?range=1h");
    expect(hour).toContain("4 invocations in the last hour, 25 % failed.");
    // The current five minutes are the last of twelve.
    expect(hour.match(/2100-11-20 1[12]:\d\d (?:\d+ ){2}/g)).toHaveLength(12);
    expect(hour).toMatch(/2100-11-20 12:00 3 1 /);
    const week = await text("/functions/checkout?range=7d");
    expect(week).toContain("4 invocations in the last 7 days, 25 % failed");
    expect(week).toContain("Invocations per 6 hours");
  });

  it("has its versions: marks where each was first seen, and what each did", async () => {
    await createJob(freshBucket().name);
    for (const [id, tag, fields] of [
      ["aaaaaaaa-1", "", { Outcome: "ok" }],
      ["bbbbbbbb-2", '<b>"v42"', { Outcome: "exception", WallTimeMs: 30 }],
    ] as const) {
      const of = { ...fields, ScriptVersion: { ID: id, Message: "", Tag: tag } };
      const minted = new Oracle({ at: clock.nowMs(), name: id }).mint(2, { scriptName: "checkout" });
      await deliver(
        pack(
          minted.map((each) => ({ ...each, event: { ...each.event, ...of }, record: { ...each.record, ...of } })),
          clock.nowMs(),
        ),
      );
      clock.advance(6 * 60_000);
    }
    const { html } = await (await Visitor.signedIn()).get("/functions/checkout");
    // Of three charts.
    expect(html.match(/<rect class="tone-mark"/g)).toHaveLength(6);
    expect(html).not.toContain("<b>");
    const said = textOf(html);
    expect(said).toContain('<b>"v42" first seen 2100-11-20 12:06 UTC, aaaaaaaa first seen 2100-11-20 12:00 UTC');
    expect(said).toMatch(/<b>"v42" \(bbbbbbbb\) .* 2 2 \(100 %\) \d+ ms aaaaaaaa-1 .* 2 0/);
    const [, href = ""] = /<a href="([^"]*version%3A%22bbbbbbbb-2[^"]*)"/.exec(html) ?? [];
    const found = await (await Visitor.signedIn()).get(href.replaceAll("&amp;", "&"));
    expect(found.html.match(/<details class="record"/g)).toHaveLength(2);
  });

  it("leads from an hour to what failed in it, and to what was slow", async () => {
    await createJob(freshBucket().name);
    await ended("ok", 3);
    await ended("exceededCpu", 1);
    const minted = new Oracle({ at: clock.nowMs(), name: "slow" }).mint(1, { scriptName: "checkout" });
    await deliver(
      pack(
        minted.map((each) => ({ ...each, event: { ...each.event, WallTimeMs: 900 } })),
        clock.nowMs(),
      ),
    );
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get("/functions/checkout");
    const [failed = "", slow = ""] = [...html.matchAll(/<a href="([^"]*)" tabindex="-1">/g)].map(([, href]) => href);
    for (const [href, has] of [
      [failed, "outcome=failed"],
      [slow, "q=took%3A%3E%3D"],
    ] as const) {
      expect(href).toContain(has);
      const found = (await visitor.get(href.replaceAll("&amp;", "&"))).html;
      expect(found.match(/<details class="record"/g)).toHaveLength(1);
      // The table has the same links, for the keyboard.
      expect(html.split(`href="${href}"`)).toHaveLength(3);
    }
  });

  it("says of hostile texts what they are, and nothing more", async () => {
    await ended("<script>alert(1)</script>\u202e", 1, "<b>x<b>");
    const { html } = await (await Visitor.signedIn()).get("/functions/%3Cb%3Ex%3Cb%3E");
    expect(html).not.toMatch(/<script>alert|<b>x|\u202e/);
    expect(textOf(html)).toContain("<script>alert(1)</script>");
  });

  it("stands beside the saved searches that name it, and where their alerts stand", async () => {
    await ended("ok", 3);
    for (const [name, query] of [
      ["Slow", "worker:checkout took:>1s"],
      ["Quoted", '(worker:"checkout" OR a)'],
      ["Another", "worker:checkout-2"],
    ])
      await call("POST", "/logship/searches", { name, query, alert: { threshold: 5, over: "5m" } });
    const said = await text("/functions/checkout");
    for (const own of [/Searches and alerts Save a search .* Quoted .* Rhythm/, /Slow at least 5 records in 5 min /])
      expect(said).toMatch(own);
    expect(said).not.toContain("Another");
    await ended("ok", 1, "a b");
    const { html } = await (await Visitor.signedIn()).get("/functions/a%20b");
    expect(textOf(html)).toContain("No saved search names this Worker.");
    expect(html).toContain('href="/searches/new?query=worker%3A%22a+b%22"');
  });

  it("is empty where nothing was invoked, and not shown without logs:read", async () => {
    await patch("still", { logship: true });
    expect(await text("/functions/still")).toContain("No invocations in the last 6 hours");
    const { secret } = await token(["functions:read"]);
    const reader = await Visitor.signedIn({ token: secret });
    const said = await text("/functions/still", reader);
    expect(said).not.toContain("No invocations");
    expect(said).toContain("Problems of this Worker: needs the permission logs:read");
  });

  it("is on the overview where too much fails, with a link to the function", async () => {
    await createJob(freshBucket().name);
    await ended("ok", 60);
    await ended("exception", 20);
    const { html } = await (await Visitor.signedIn()).get("/");
    expect(textOf(html)).toMatch(
      /2 problems .* warning checkout as sent by "unknown", is failing: 20 of 80 requests \(25 %\) in .*, since 12:00 UTC/,
    );
    expect(html).toMatch(/id="verdict"[\s\S]*<a href="\/functions\/checkout">[\s\S]*id="functions"/);
  });
});
