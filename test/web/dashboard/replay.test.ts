/** The pages of replays: the preview, where the copies go, and how far each is. */
import { describe, expect, it } from "vitest";
import type { ObjectEntry } from "../../../src/ship/reader/statuses.ts";
import { at, shippedJob } from "../../operate/replay/shipped.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { createJob, destinationConf } from "../../support/runtime/api.ts";
import { rule } from "../../support/s3-script.ts";
import { call, freshBucket } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { untouched } from "./browser-form.ts";
import { s3Form } from "./creating.ts";
import { SCRIPT } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

async function opened(objects = 1) {
  const shipped = await shippedJob(objects);
  const visitor = await Visitor.signedIn();
  const list = (await call<ObjectEntry[]>("GET", `/logship/jobs/${shipped.job}/objects`)).body.result;
  const path = `/jobs/${shipped.job}/replay`;
  return {
    ...shipped,
    visitor,
    entries: list,
    path,
    /** As "Start replay" after nothing but the time was entered, with these changes. */
    start: async (span: { since: string; until: string }, more: Record<string, string> = {}) => {
      const { html } = await visitor.get(`${path}?${new URLSearchParams(span)}`);
      const form = untouched(html.slice(html.indexOf('aria-label="Start a replay"')));
      for (const [name, value] of Object.entries(more)) form.set(name, value);
      return visitor.submit(path, form);
    },
  };
}

const ALL = { since: at(0), until: at(100) };
const OWN = { to: "own", allow_duplicates: "true" };

describe("the preview of a replay", () => {
  it("says what would be shipped and what it costs, and starts nothing", async () => {
    const { visitor, path, list } = await opened(3);
    const before = await visitor.get(path);
    expect(textOf(before.html)).toContain("No replays yet");
    expect(before.html).not.toContain("Start replay");
    const { html } = await visitor.get(`${path}?since=2100-11-20+12:00&until=${at(2)}`);
    expect(textOf(html)).toMatch(
      /Objects 2 Records 20 Size, compressed .*B Estimated cost < \$0\.0001, without traffic/,
    );
    expect(html).toContain("Allow duplicates: 20 records will be in the folder twice, the second time under new keys");
    expect(html).toMatch(
      /name="path" .*value="replay\/logs\/\{DATE\}"|value="replay\/logs\/\{DATE\}"[^>]* name="path"/,
    );
    expect(html).not.toContain(SECRET_KEY);
    expect(await list()).toEqual([]);
  });

  it("of nothing says so, and leads nowhere; of what is no time says what is wrong, beside it", async () => {
    const { visitor, path } = await opened();
    const none = await visitor.get(`${path}?since=2100-11-01&until=2100-11-02`);
    expect(textOf(none.html)).toContain("nothing to replay: no delivered object has events in that time");
    expect(none.html).not.toContain("Start replay");
    const bad = await visitor.get(`${path}?since=yesterday&until=${encodeURIComponent(SCRIPT)}`);
    for (const words of ['id="field-since-error"', 'value="yesterday"', 'id="field-until-error"'])
      expect(bad.html).toContain(words);
    expect(textOf((await visitor.get(`${path}?since=${at(2)}&until=${at(1)}`)).html)).toContain(
      "until: must be later than since",
    );
  });

  it("is for who reads logs, who may not begin one", async () => {
    const { path } = await opened();
    const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
    const { html, status } = await reader.get(`${path}?${new URLSearchParams(ALL)}`);
    expect(status).toBe(200);
    expect(textOf(html)).toContain("Starting a replay needs the permission logs:edit.");
    expect(textOf(html)).toContain("Objects 1 Records 10");
    expect(html).not.toContain("Start replay");
    expect((await reader.get(`${path}/destination?${new URLSearchParams(ALL)}`)).status).toBe(403);
  });

  it("is not made again where the page refreshes itself", async () => {
    const { visitor, path, start } = await opened();
    await start(ALL);
    const here = `${path}?${new URLSearchParams(ALL)}`;
    expect((await visitor.get(here)).html).toContain('data-refresh="3"');
    const refreshed = await visitor.get(here, { "x-logship-refresh": "1" });
    expect([refreshed.html.includes("Estimated cost"), refreshed.html.includes('data-refresh="3"')]).toEqual([
      false,
      true,
    ]);
  });
});

describe("a replay", () => {
  it("goes to another folder of the same bucket, if nothing else is chosen", async () => {
    const shipped = await opened(2);
    const { start, path, list, objects } = shipped;
    expect((await start(ALL)).location).toBe(`${path}#replays`);
    const [replay] = await list();
    expect(await shipped.settle(replay?.id ?? "")).toMatchObject({ state: "done", done: { objects: 2 } });
    for (const { key } of (await objects()).copies) expect(key).toMatch(/^replay\/logs\/21001120\//);
    // Once more, and the folder would hold everything twice.
    const again = await start(ALL);
    expect([again.status, textOf(again.html)]).toEqual([
      400,
      expect.stringContaining("That folder already holds records of this time."),
    ]);
  });

  it("into the job's own folder is asked for twice", async () => {
    const { start, path, list } = await opened(3);
    const refused = await start(ALL, { to: "own" });
    expect(refused.status).toBe(400);
    expect(textOf(refused.html)).toContain("That folder already holds records of this time.");
    expect(refused.html).toMatch(/<input type="radio" id="field-to-own"[^>]* checked/);
    // The same path as the job's is its own folder.
    expect((await start(ALL, { path: "logs/{DATE}" })).status).toBe(400);
    expect(await list()).toEqual([]);
    expect((await start(ALL, OWN)).location).toBe(`${path}#replays`);
    expect(await list()).toHaveLength(1);
  });

  it("goes to the folder of another job", async () => {
    const shipped = await opened(1);
    const { start, list, visitor, path } = shipped;
    const other = freshBucket();
    const job = await createJob(other.name, { name: `nightly ${SCRIPT}` });
    const { html } = await visitor.get(`${path}?${new URLSearchParams(ALL)}`);
    expect(html).toContain(`job ${job}: nightly &lt;`);
    await start(ALL, { to: "job", of_job: `${job}` });
    const [replay] = await list();
    await shipped.settle(replay?.id ?? "");
    expect(await other.control.objects()).toHaveLength(2);
    expect(textOf((await start(ALL, { to: "job", of_job: "999" })).html)).toContain("there is no such job");
  });

  it("shows what is wrong beside each field, and what was sent", async () => {
    const { start, visitor, path } = await opened();
    const bad = await start(ALL, { path: "a?b" });
    expect([bad.status, bad.html.includes('id="field-path-error"'), bad.html.includes('value="a?b"')]).toEqual([
      400,
      true,
      true,
    ]);
    const late = await visitor.submit(path, { since: "yesterday", until: "<now>" });
    expect([late.status, late.html.includes('id="field-since-error"')]).toEqual([400, true]);
  });

  it("is listed, with how far it is, and what did not go", async () => {
    const shipped = await opened(3);
    const { visitor, path, control, entries } = shipped;
    await control.script([
      rule({ do: "answer", status: 404, code: "NoSuchKey" }, { method: "GET", keyIncludes: entries[1]?.key ?? "?" }),
    ]);
    await shipped.start({ ...ALL, since: at(0).slice(0, 16).replace("T", " ") }, OWN);
    const running = await visitor.get(path);
    expect(running.html).toContain('data-refresh="3"');
    expect(textOf(running.html)).toContain("0 of 3 objects shipped");
    expect(textOf(running.html)).toContain("Cancel the replay of 2100-11-20 12:00 to");
    const [replay] = await shipped.list();
    await shipped.settle(replay?.id ?? "");
    const over = await visitor.get(path);
    expect(over.html).not.toContain('data-refresh="3"');
    expect(textOf(over.html)).toContain("done, with gaps");
    const detail = textOf((await visitor.get(`${path}/${replay?.id}`)).html);
    for (const words of ["2 of 3 objects shipped", "1 missing", entries[1]?.key ?? "?", "NoSuchKey"])
      expect(detail).toContain(words);
    expect(textOf((await visitor.get(`/jobs/${shipped.job}`)).html)).toContain("20 records in 2 objects");
  });

  it("is cancelled", async () => {
    const { visitor, path, start, list } = await opened(2);
    await start(ALL);
    const [replay] = await list();
    const answer = await visitor.submit(`${path}/${replay?.id}/cancel`);
    expect(answer.location).toBe(`${path}#replays`);
    expect(textOf((await visitor.get(path)).html)).toContain("cancelled");
    expect((await visitor.submit(`${path}/${"0".repeat(32)}/cancel`)).status).toBe(404);
  });
});

describe("another destination", () => {
  /** The form of a destination, as entered. */
  const entered = (bucket: string, more: Record<string, string> = {}) =>
    s3Form(bucket, { ...ALL, path: "again/{DATE}", do: "start", ...more });

  it("is entered as that of a job, tested, and never shown with its keys", async () => {
    const shipped = await opened(2);
    const { visitor, path, list, job } = shipped;
    const page = await visitor.get(`${path}/destination?${new URLSearchParams(ALL)}&scheme=s3`);
    expect(textOf(page.html)).toContain("Objects 2 Records 20");
    expect(page.html).toContain('value="kind:gs"');
    const elsewhere = freshBucket();
    const tested = await visitor.submit(`${path}/destination`, entered(elsewhere.name, { do: "test" }));
    expect([tested.status, textOf(tested.html)]).toEqual([200, expect.stringContaining("Reachable and writable")]);
    for (const secret of [SECRET_KEY, ACCESS_KEY]) expect(tested.html).not.toContain(secret);
    expect((await elsewhere.control.objects()).map(({ key }) => key)).toEqual(["again/00010101/test.txt.gz"]);
    expect(await list()).toEqual([]);
    // The form carries what was entered: nothing is entered again.
    const form = untouched(tested.html.slice(tested.html.indexOf('aria-label="Destination"')));
    form.set("do", "start");
    expect([form.get("destination-access_key_id"), form.get("destination-secret_access_key")]).toEqual(["", ""]);
    expect((await visitor.submit(`${path}/destination`, form)).location).toBe(`${path}#replays`);
    const [replay] = await list();
    await shipped.settle(replay?.id ?? "");
    const shown = (await visitor.get(path)).html;
    expect(textOf(shown)).toContain(`s3://${elsewhere.name}/again/{DATE}`);
    expect(shown).not.toContain(SECRET_KEY);
    const all = (await call<ObjectEntry[]>("GET", `/logship/jobs/${job}/objects`)).body.result;
    const copy = all.find((each) => each.replay !== null);
    const said = textOf((await visitor.get(`/jobs/${job}/objects/${copy?.number}`)).html);
    expect(said).toContain("Records not available here");
    expect(said).toContain(elsewhere.name);
  });

  it("keeps the entered keys for its store, its caller and its job alone", async () => {
    const { visitor, path, list } = await opened(1);
    const bucket = freshBucket();
    const tested = await visitor.submit(`${path}/destination`, entered(bucket.name, { do: "test" }));
    const carried = /name="entered" value="([^"]+)"/.exec(tested.html)?.[1] ?? "";
    expect(carried).not.toBe("");
    const without = { access_key_id: "", secret_access_key: "", entered: carried };
    const other = await createJob(freshBucket().name);
    const another = await Visitor.signedIn({ token: (await token(["logs:read", "logs:edit"])).secret });
    const attempts: [Visitor, string, Record<string, string>][] = [
      [visitor, path, { endpoint: "https://evil.example" }],
      [visitor, `/jobs/${other}/replay`, {}],
      [another, path, {}],
      [visitor, path, { entered: `${carried.slice(0, -2)}AA` }],
    ];
    for (const [who, where, more] of attempts) {
      const { status, html } = await who.submit(`${where}/destination`, entered(bucket.name, { ...without, ...more }));
      const isAsked = html.includes("Enter the secret access key.") || status === 303;
      expect([where, more, isAsked]).toEqual([where, more, true]);
    }
    expect(await list()).toEqual([]);
  });

  it("that refuses the test starts nothing, and says why", async () => {
    const { visitor, path, list } = await opened(1);
    const bucket = freshBucket();
    await bucket.control.script([rule({ do: "answer", status: 403, code: "InvalidAccessKeyId" })]);
    const { html, status } = await visitor.submit(`${path}/destination`, entered(bucket.name));
    expect([status, textOf(html)]).toEqual([200, expect.stringContaining("Test failed")]);
    expect(textOf(html)).toContain("HTTP 403 InvalidAccessKeyId");
    expect(await list()).toEqual([]);
  });

  it("is filled in from a pasted one, whose keys no page shows", async () => {
    const { visitor, path } = await opened(1);
    const conf = destinationConf("pasted-bucket", "again/{DATE}");
    const filled = await visitor.submit(`${path}/destination`, { ...ALL, do: "kind:s3", destination_conf: conf });
    expect(filled.html).toContain('value="pasted-bucket"');
    const broken = [conf.replace("?", "&"), conf.replace(/\/[^/?]*\?/, "&"), conf.replace("secret-access-key=", "x=")];
    for (const text of [conf, ...broken]) {
      const { html } = await visitor.submit(`${path}/destination`, { ...ALL, do: "kind:s3", destination_conf: text });
      expect([text, html.includes(SECRET_KEY)]).toEqual([text, false]);
    }
  });

  it("that is the job's own folder is asked for twice, like another one", async () => {
    const { visitor, path, name, list } = await opened(1);
    const own = entered(name, { path: "logs/{DATE}" });
    const refused = await visitor.submit(`${path}/destination`, own);
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining("That folder already holds records of this time."),
    ]);
    expect(await list()).toEqual([]);
    const begun = await visitor.submit(`${path}/destination`, { ...own, allow_duplicates: "true" });
    expect(begun.location).toBe(`${path}#replays`);
  });

  it("needs a time first, and a job", async () => {
    const { visitor, path } = await opened(1);
    expect((await visitor.get(`${path}/destination`)).location).toBe(path);
    expect((await visitor.get(`${path}/destination?since=x&until=y`)).location).toBe(`${path}?since=x&until=y`);
    expect((await visitor.get("/jobs/999/replay/destination?since=x&until=y")).status).toBe(404);
  });
});
