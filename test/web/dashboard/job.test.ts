/** The page of a job, the list of jobs, and their actions. */
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { shippedJob } from "../../operate/replay/shipped.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob, destinationConf } from "../../support/runtime/api.ts";
import { deliver, NOON, pack, runCron, setClock, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call, freshBucket, type Job } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { untouched } from "./browser-form.ts";
import { textOf, Visitor } from "./support.ts";

const at = (bucket: string, path: string) => ({ destination_conf: destinationConf(bucket, path) });

const text = async (visitor: Visitor, path: string): Promise<string> => textOf((await visitor.get(path)).html);

describe("the page of a job", () => {
  it("says what became of every record, and that it adds up", async () => {
    const { job } = await shippedJob(2);
    const visitor = await Visitor.signedIn();
    const page = await visitor.get(`/jobs/${job}`);
    expect(page.status).toBe(200);
    const said = textOf(page.html);
    expect(said).toContain(
      "It adds up 20 received = 0 filtered + 0 sampled out + 20 delivered + 0 pending + 0 on hold + 0 discarded",
    );
    expect(said).toContain("Delivering; nothing is waiting");
    expect(said).toContain("Guarantee once");
    expect(said).not.toContain("in doubt");
    expect(said).toContain("2 uploads ok, 0 retried, 0 failed in the last 24 hours.");
    expect(said).toContain("20 records delivered in the last 24 hours");
    expect(page.html).toContain('aria-label="2 uploads ok, 0 retried, 0 failed in the last 24 hours."');
    // One title per bar of three charts; the clock stands still, so the chart of durations is
    // empty.
    expect(page.html.match(/<title>2100-[^<]*<\/title>/g)).toHaveLength(3 * 24);
    for (const [range, bars] of [
      ["7d", 28],
      ["30d", 30],
    ] as const)
      expect((await visitor.get(`/jobs/${job}?range=${range}`)).html.match(/<title>2100-[^<]*<\/title>/g)).toHaveLength(
        3 * bars,
      );
  });

  it("shows the filter as a query, with a search for what it keeps", async () => {
    setClock(NOON);
    const where = (value: string) => ({ key: "ScriptName", operator: "!eq", value });
    const filter = JSON.stringify({ where: { and: [where("a b"), where("<b>")] } });
    const job = await createJob(freshBucket().name, { filter });
    const { html } = await (await Visitor.signedIn()).get(`/jobs/${job}`);
    expect(textOf(html)).toContain('As a search: -ScriptName:"a b" -ScriptName:"<b>" Search with it');
    const path = /href="(\/search\?[^"]*)">Search with it/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const asked = new URL(path, "http://x").searchParams;
    expect(Object.fromEntries(asked)).toEqual({ q: '-ScriptName:"a b" -ScriptName:"<b>"', job: `${job}`, last: "1h" });
    expect(textOf((await (await Visitor.signedIn()).get(path)).html)).toContain("Nothing found");
  });

  it("says what was sent again in doubt, and that its destination takes each record at least once", async () => {
    const clock = setClock(NOON);
    let lost = 1;
    vi.spyOn(platform, "fetch").mockImplementation(async (_url, { headers }) => {
      const isRecords = !new Headers(headers).get("idempotency-key")?.startsWith("test-");
      if (isRecords && lost-- > 0) throw new TypeError("connection reset");
      return new Response(null, { status: 204 });
    });
    const job = await createJob("", { destination_conf: "https://logs.example/in?header_Authorization=Bearer%20x" });
    await deliver(pack(new Oracle({ at: NOON }).mint(7), NOON));
    for (let n = 0; n < 3; n++) {
      clock.advance(300_000);
      await runCron();
    }
    const said = await text(await Visitor.signedIn(), `/jobs/${job}`);
    expect(said).toContain("Guarantee at least once, id: header Idempotency-Key");
    expect(said).toContain("Sent again in doubt (counted separately) 7 records");
    expect(said).toContain("7 received = 0 filtered + 0 sampled out + 7 delivered");
  });

  it("of a job that took nothing yet says so", async () => {
    setClock(NOON);
    const job = await createJob(freshBucket().name, { name: "<i>new</i>", enabled: false });
    const { html, status } = await (await Visitor.signedIn()).get(`/jobs/${job}`);
    expect(status).toBe(200);
    const said = textOf(html);
    for (const words of [
      "<i>new</i>",
      "paused",
      "No uploads in the last 24 hours",
      "No objects yet",
      "Resume",
      "nothing delivered yet",
    ])
      expect(said).toContain(words);
    expect(html).not.toContain("<i>new");
  });

  it("has an example of its keys, where its path has placeholders", async () => {
    setClock(NOON);
    const { name } = freshBucket();
    const [plain, parts] = [
      await createJob(name, at(name, "all")),
      await createJob(name, at(name, "{SCRIPT}/{HOUR}/")),
    ];
    const visitor = await Visitor.signedIn();
    expect(await text(visitor, `/jobs/${plain}`)).not.toContain("Example key");
    expect(await text(visitor, `/jobs/${parts}`)).toContain("Example key shop/12/21001120T120000Z_");
    expect(await text(visitor, `/jobs/${parts}/edit`)).toContain("Example: shop/12/21001120T120000Z_");
  });

  it("says what waits, and why delivery fails", async () => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const visitor = await Visitor.signedIn();
    await deliver(pack(new Oracle({ at: NOON }).mint(3), clock.nowMs()));
    clock.advance(10_000);
    const waiting = await text(visitor, `/jobs/${job}`);
    expect(waiting).toContain("Delivery ● Delivering; behind by 10 s Delivered up to 70 s ago Waiting 3 records");
    expect(waiting).toContain("3 records waiting, the oldest for 10 s. Next upload in 20 to 35 s.");
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "PUT" })]);
    await runCron();
    const said = await text(visitor, `/jobs/${job}`);
    for (const words of [
      "Delivery ■ Delivery paused: HTTP 403 AccessDenied; records are kept; next try in",
      "1 object not uploaded yet",
      "Upload errors",
      "the keys may not write there",
    ])
      expect(said).toContain(words);
    expect(said.match(/nothing is lost|records are kept/g)).toHaveLength(1);
    // An open page refreshes this part.
    expect((await visitor.get(`/jobs/${job}`)).html).toContain('id="state" data-refresh="5"');
    expect(await text(visitor, `/jobs/${job}?flushed=1`)).toContain("Flush failed for 1 object");
  });

  it("flushes, pauses and resumes", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const visitor = await Visitor.signedIn();
    await deliver(pack(new Oracle({ at: NOON }).mint(3), clock.nowMs()));
    expect((await visitor.submit(`/jobs/${job}/flush`)).location).toBe(`/jobs/${job}?flushed=0`);
    expect(await text(visitor, `/jobs/${job}?flushed=0`)).toContain("everything is delivered");
    expect(await text(visitor, `/jobs/${job}?flushed=1`)).toContain("1 object still uploading");
    const enabled = async (): Promise<unknown> => (await call<Job>("GET", `/logship/jobs/${job}`)).body.result.enabled;
    const asked = await visitor.submit(`/jobs/${job}/enabled`, { enabled: "false" });
    expect(textOf(asked.html)).toContain("Events that arrive while the job is paused are not shipped");
    expect([asked.status, await enabled()]).toEqual([200, true]);
    const sure = untouched(asked.html, `/jobs/${job}/enabled`);
    expect((await visitor.submit(`/jobs/${job}/enabled`, sure)).location).toBe(`/jobs/${job}?paused`);
    expect(await enabled()).toBe(false);
    const said = "Paused: events that arrive now are never shipped By Admin token , just now";
    expect((await text(visitor, `/jobs/${job}?paused`)).replace(/\s+/g, " ")).toContain(said);
    const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
    const seen = await text(reader, `/jobs/${job}`);
    expect([seen.includes("Paused: events"), seen.includes("Admin token")]).toEqual([true, false]);
    expect((await visitor.submit(`/jobs/${job}/enabled`, { enabled: "true" })).location).toBe(`/jobs/${job}?resumed`);
    expect(await enabled()).toBe(true);
  });

  it("is deleted from a page that says what that means, and is listed until it has delivered", async () => {
    const clock = setClock(NOON);
    const [keep, drop] = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    const visitor = await Visitor.signedIn();
    await deliver(pack(new Oracle({ at: NOON }).mint(3), clock.nowMs()));
    const page = await text(visitor, `/jobs/${drop}/delete`);
    for (const words of ["3 records waiting", "3 records will be lost", "discard 3 records"])
      expect(page).toContain(words);
    expect((await visitor.submit(`/jobs/${drop}/delete`, { discard: "true" })).location).toBe(
      `/jobs?deleted=${drop}&discarded`,
    );
    const deleted = await visitor.submit(`/jobs/${keep}/delete`);
    expect(deleted.location).toBe(`/jobs?deleted=${keep}`);
    const list = await text(visitor, deleted.location ?? "");
    expect(list).toContain(`Job ${keep} deleted`);
    expect(list).toContain("logship delivers its waiting records in the background");
    expect(list).toContain(`Deleted, still delivering`);
    expect((await visitor.get(`/jobs/${keep}`)).status).toBe(404);
    expect((await visitor.submit(`/jobs/${keep}/flush`)).status).toBe(404);
    await runCron();
    await settle(keep, clock);
    expect(await text(visitor, "/jobs")).not.toContain("still delivering");
  });

  it("shows to whoever reads only what it takes to change anything", async () => {
    setClock(NOON);
    const job = await createJob(freshBucket().name);
    const { secret } = await token(["logs:read"]);
    const visitor = await Visitor.signedIn({ token: secret });
    const { html, status } = await visitor.get(`/jobs/${job}`);
    expect(status).toBe(200);
    for (const label of ["Flush now", "Pause", "Edit", "Duplicate", "Delete"])
      expect(html).toMatch(
        new RegExp(`disabled[^>]*>${label}<span class="unseen">[^<]*\\(needs the permission logs:edit\\)`),
      );
  });

  it.each(["0", "x", "99", "1%2F..", "..%2Fledger", "%00"])("of number %s is not there", async (id) => {
    setClock(NOON);
    const visitor = await Visitor.signedIn();
    for (const path of ["", "/edit", "/objects", "/objects/1", "/objects/1/download", "/replay", "/delete"])
      expect([path, (await visitor.get(`/jobs/${id}${path}`)).status]).toEqual([path, 404]);
  });
});

describe("the list of jobs", () => {
  it("finds by name, number and bucket, and says what waits", async () => {
    const clock = setClock(NOON);
    const [shop, other] = [freshBucket(), freshBucket()];
    const first = await createJob(shop.name, { name: "Shop <b>" });
    const second = await createJob(other.name, { name: "x".repeat(500), enabled: false });
    await deliver(pack(new Oracle({ at: NOON }).mint(4), clock.nowMs()));
    clock.advance(5_000);
    const visitor = await Visitor.signedIn();
    const all = await text(visitor, "/jobs");
    for (const words of ["2 jobs", "Shop <b>", "4 records for 5 s", "and 420 more characters", shop.name])
      expect(all).toContain(words);
    const found = async (q: string): Promise<boolean[]> => {
      const { html } = await visitor.get(`/jobs?${new URLSearchParams({ q })}`);
      return [first, second].map((id) => html.includes(`href="/jobs/${id}"`));
    };
    expect(await found("sHoP")).toEqual([true, false]);
    expect((await found(String(second)))[1]).toBe(true);
    expect(await found(other.name)).toEqual([false, true]);
    // Keys are not searched.
    expect(await found("access-key-id")).toEqual([false, false]);
    expect(await text(visitor, `/jobs?q=${encodeURIComponent('"><script>')}`)).toContain("No matching jobs");
  });
});
