/** The pages of saved searches: their forms, whose they are, and what their alerts count. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { parseQuery } from "../../../src/formats/query/parse.ts";
import { askedOf, wholeQuery } from "../../../src/web/dashboard/pages/search/address.ts";
import { savingPath } from "../../../src/web/dashboard/pages/searches/words.tsx";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { untouched } from "./browser-form.ts";
import { textOf, Visitor } from "./support.ts";

const SCRIPT = "<script>alert(1)</script>";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  setClock(NOON);
});

interface Saved {
  id: number;
  name: string;
  query: string;
  alert: object | null;
}
const saved = async (): Promise<Saved[]> => (await call<Saved[]>("GET", "/logship/searches")).body.result;

const FORM = { name: "Checkout fails", query: "worker:shop", measure: "count", threshold: "10", over: "5m" };
const ALERT = {
  ...{ measure: { op: "count" }, threshold: 10, when: "at_least" },
  ...{ over: "5m", for: "0m", severity: "warning" },
};

describe("a saved search", () => {
  it("begins above the records of a search that asks for something", async () => {
    const visitor = await Visitor.signedIn();
    const link = async (path: string) => {
      const [above = ""] = (await visitor.get(path)).html.split('id="search-form"');
      return /<a href="([^"]*)">Save this search/.exec(above)?.[1];
    };
    expect(await link("/search?last=1h&q=status:5xx&function=shop")).toBe(
      "/searches/new?query=status%3A5xx+worker%3Ashop",
    );
    expect(await link("/search?last=1h&outcome=exception")).toBe("/searches/new?query=outcome%3Aexception");
    expect([await link("/search"), await link("/search?last=24h")]).toEqual([undefined, undefined]);
  });

  it("is made by a form, changed by one that keeps the rest, and deleted after a question", async () => {
    const visitor = await Visitor.signedIn();
    expect((await visitor.submit("/searches/new", FORM)).location).toBe("/searches/1?saved");
    expect(await saved()).toMatchObject([{ name: "Checkout fails", query: "worker:shop", alert: ALERT }]);
    await call("PUT", "/logship/searches/1", {
      ...{ name: "Slow", query: "worker:shop" },
      alert: {
        ...{ measure: { op: "p95", of: "took" }, threshold: 0.5, when: "below" },
        ...{ over: "7m", for: "3h", severity: "error" },
      },
    });
    const [before] = await saved();
    const form = untouched((await visitor.get("/searches/1")).html, "/searches/1");
    form.set("name", "Renamed");
    expect((await visitor.submit("/searches/1", form)).location).toBe("/searches/1?saved");
    expect(await saved()).toMatchObject([{ ...before, name: "Renamed", modified_at: expect.any(String) }]);
    form.set("measure", "");
    await visitor.submit("/searches/1", form);
    expect((await saved())[0]?.alert).toBeNull();
    expect(textOf((await visitor.get("/searches/1/delete")).html)).toContain("Renamed is deleted.");
    expect((await visitor.submit("/searches/1/delete")).location).toBe("/searches?deleted");
    expect(await saved()).toEqual([]);
    expect(textOf((await visitor.get("/searches?deleted")).html)).toContain("No saved searches");
    for (const path of ["/searches/1", "/searches/1/delete", "/searches/x"])
      expect((await visitor.get(path)).status).toBe(404);
  });

  it("says what is wrong with its fields, and keeps what was entered", async () => {
    const visitor = await Visitor.signedIn();
    await visitor.submit("/searches/new", FORM);
    for (const path of ["/searches/new", "/searches/1"])
      for (const [wrong, field] of [
        [{ name: "" }, "name"],
        [{ query: "status:(" }, "query"],
        [{ measure: "p95" }, "of"],
        [{ measure: "avg", of: "Nothing" }, "of"],
        [{ measure: "distinct" }, "measure"],
        [{ threshold: "" }, "threshold"],
        [{ threshold: "many" }, "threshold"],
        [{ over: "25h" }, "over"],
        [{ for: "1s" }, "for"],
      ] as const) {
        const { status, html } = await visitor.submit(path, { ...FORM, query: "kept", ...wrong });
        expect([status, wrong], path).toEqual([400, wrong]);
        expect(html, `${path} ${field}`).toMatch(new RegExp(`id="field-${field}-error"`));
        if (field !== "query") expect(html).toContain('value="kept"');
      }
    expect(await saved()).toMatchObject([{ query: "worker:shop" }]);
  });

  it("is listed with its threshold in words, what it counts now, and a way to its records", async () => {
    await createJob(freshBucket().name);
    const visitor = await Visitor.signedIn();
    await visitor.submit("/searches/new", { ...FORM, threshold: "2" });
    await visitor.submit("/searches/new", { ...FORM, name: "Silent", threshold: "1", when: "below", for: "10m" });
    await visitor.submit("/searches/new", { name: "Plain", query: "", measure: "" });
    const list = async () => textOf((await visitor.get("/searches")).html);
    expect(await list()).toMatch(/Checkout fails worker:shop at least 2 records in 5 min ● 0 Admin token Delete/);
    expect(await list()).toMatch(/Silent worker:shop no records in 5 min, for 10 min ○ 0, not known yet/);
    expect(await list()).toMatch(/Plain every record no alert/);
    await deliver(pack(new Oracle({ at: NOON }).mint(3, { scriptName: "shop" }), NOON));
    expect(await list()).toMatch(/Checkout fails worker:shop at least 2 records in 5 min ▲ 3, past its threshold/);
    const { html } = await visitor.get("/searches/1");
    expect(textOf(html)).toContain("Counted 3 since 2100-11-20 12:00:00 UTC");
    expect(html).toContain('href="/search?q=worker%3Ashop&amp;last=24h"');
  });

  it("is its owner's: another reader does not find it", async () => {
    const [one, two] = [await token(["logs:read"]), await token(["logs:read"])];
    const owner = await Visitor.signedIn({ token: one.secret });
    const other = await Visitor.signedIn({ token: two.secret });
    expect((await owner.submit("/searches/new", FORM)).location).toBe("/searches/1?saved");
    expect((await owner.get("/searches/1")).status).toBe(200);
    expect((await other.get("/searches/1")).status).toBe(404);
    expect((await other.submit("/searches/1", FORM)).status).toBe(404);
    expect((await other.submit("/searches/1/delete")).status).toBe(404);
    expect(textOf((await other.get("/searches")).html)).toContain("No saved searches");
  });

  it("is shown as the text that it is", async () => {
    const visitor = await Visitor.signedIn();
    const texts = { name: `${SCRIPT}\u202e`, query: `"${SCRIPT}"`, measure: "sum", of: "Fields.<b>\u202e" };
    expect((await visitor.submit("/searches/new", { ...FORM, ...texts })).location).toBe("/searches/1?saved");
    for (const path of ["/searches", "/searches/1", "/searches/1/delete", `/searches/new?query=${SCRIPT}`]) {
      const { status, html } = await visitor.get(path);
      expect(status).toBe(200);
      expect(html).not.toContain(SCRIPT);
      expect(html.replace(/value="[^"]*"/g, "")).not.toContain("\u202e");
    }
  });
});

describe("a search on its page", () => {
  it("leads to the form that saves it", async () => {
    await createJob(freshBucket().name);
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get("/search?q=timeout&function=shop&outcome=failed&last=1h");
    const [, href = ""] = /<a href="(\/searches\/new[^"]*)">/.exec(html) ?? [];
    const form = untouched((await visitor.get(href)).html, "/searches/new");
    expect(form.get("query")).toBe("timeout worker:shop (-outcome:ok OR Exceptions:* OR status:5xx)");
  });

  it.for([
    ["q=a+OR+b", "a OR b"],
    ["q=a+OR+b&function=shop", "(a OR b) worker:shop"],
    ["function=my+shop&outcome=exceededCpu", 'worker:"my shop" outcome:exceededCpu'],
    ["outcome=failed", "(-outcome:ok OR Exceptions:* OR status:5xx)"],
    [
      `q=a&filter=${JSON.stringify({ where: { key: "EventType", operator: "eq", value: "queue" } })}`,
      "a EventType:queue",
    ],
    [
      `function=x&filter=${JSON.stringify({ where: { or: ["a", "b"].map((value) => ({ key: "EventType", operator: "eq", value })) } })}`,
      "worker:x (EventType:a OR EventType:b)",
    ],
    ["q=a&filter=nonsense", "a"],
    ["last=1h", ""],
  ])("%s is %s as one query", ([address, query]) => {
    const asked = askedOf(new URLSearchParams(address));
    if (asked === null || query === undefined) throw new Error("nothing is asked");
    expect(wholeQuery(asked)).toBe(query);
    expect(parseQuery(query).ok).toBe(true);
    expect(new URLSearchParams(savingPath(asked).split("?")[1]).get("query")).toBe(query);
  });
});
