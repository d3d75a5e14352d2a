/** The page of the status. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import { lookAnew } from "../../operate/alerts/fresh.ts";
import { clock, eyes, of, watchEach } from "../../operate/alerts/watching.ts";
import { finding } from "../../operate/status/findings.ts";
import { token } from "../api/principals.ts";
import { IMAGE, LONG, OBEYED, SCRIPT, STEERING } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

lookAnew();

watchEach();

let admin: Visitor;
beforeEach(async () => {
  admin = await Visitor.signedIn();
});

const textAt = async (path: string, who = admin): Promise<string> => textOf((await who.get(path)).html);

describe("what is wrong", () => {
  it("is nothing, and says when that was seen", async () => {
    const text = await textAt("/status");
    for (const said of ["No problems", "Checked 2100-11-20 12:00:00 UTC"]) expect(text).toContain(said);
  });

  it("stands by its severity, with since when, how much, and what to do, and leads to what it is about", async () => {
    eyes.now([
      of(3, { sinceMs: clock.nowMs() - 300_000, affected: { count: 1_234_567_890, what: "records" } }),
      finding({ kind: "lagging", severity: "warning", subject: { type: "job", id: 4 }, summary: "Job 4 is late." }),
      finding({ kind: "function_quiet", severity: "warning", subject: { type: "function", name: "a/b c" } }),
      finding({ kind: "ledger_silent", severity: "warning", subject: { type: "account" }, summary: "No ledger." }),
    ]);
    const { html } = await admin.get("/status");
    const text = textOf(html);
    for (const said of [
      "1 error, 3 warnings",
      "error Job 3 Uploads fail: HTTP 503.",
      "Uploads fail: HTTP 503.",
      "Look at the store.",
      "5 min ago",
      "1,234,567,890 records affected",
    ])
      expect(text).toContain(said);
    const order = ["Errors:", "Uploads fail", "Warnings:", "Job 4 is late.", "No answer:", "No ledger."];
    expect(order.map((each) => text.indexOf(each))).toEqual(
      order.map((each) => text.indexOf(each)).sort((a, b) => a - b),
    );
    expect(html).toContain('href="/jobs/3"');
    expect(html).not.toContain('<a href="/set-aside">Entries on hold');
    eyes.now([of(3, { kind: "objects_set_aside" })]);
    expect((await admin.get("/status")).html).toContain('<a href="/set-aside">Entries on hold');
    expect(html).toContain('href="/functions/a%2Fb%20c"');
    expect(html).toMatch(/<section class="panel" id="findings"[^>]* data-refresh="15"/);
  });

  it("shows names as texts, and many of them behind a click", async () => {
    const names = [SCRIPT, IMAGE, STEERING, LONG, "\ud800", ".."];
    eyes.now([
      ...names.map((name) => finding({ subject: { type: "function", name }, summary: name, advice: name })),
      ...Array.from({ length: 120 }, (_, i) => of(i + 1)),
    ]);
    const { html, status } = await admin.get("/status");
    expect([status, OBEYED.exec(html)]).toEqual([200, null]);
    expect(textOf(html)).toContain("76 more");
    expect(textOf(html)).toContain("␛]0;owned␇<U+202E>gnp.exe");
  });

  it("is not known where the watch does not answer: the panel says so, and looks again", async () => {
    vi.spyOn(Watch.prototype, "snapshot").mockImplementation(async () => null);
    const { html, status } = await admin.get("/status");
    expect([status, textOf(html)]).toEqual([200, expect.stringContaining("Status unavailable")]);
    expect(textOf(html)).not.toContain("No problems");
    expect(html).toContain('data-refresh="15"');
  });

  it("is for who reads logs; of functions there is a name and no link", async () => {
    eyes.now([finding({ subject: { type: "function", name: "shop" } })]);
    const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
    const { html } = await reader.get("/status");
    expect(html).not.toContain('href="/functions/shop"');
    expect(textOf(html)).toContain("error shop");
    const other = await Visitor.signedIn({ token: (await token(["functions:read", "logs:edit"])).secret });
    for (const path of ["/status", "/incidents", "/alerts"]) expect((await other.get(path)).status).toBe(403);
  });
});
