/** The pages of objects and their records. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ObjectEntry } from "../../../src/ship/reader/statuses.ts";
import { shippedJob } from "../../operate/replay/shipped.ts";
import { RECEIVERS, type ReceiverFixture } from "../../ship/destinations/receivers.ts";
import { deliver, pack } from "../../support/runtime/pipeline.ts";
import { receiving } from "../../support/runtime/receiving.ts";
import { rule } from "../../support/s3-script.ts";
import { call } from "../api/harness.ts";
import { textOf, Visitor } from "./support.ts";

afterEach(() => vi.restoreAllMocks());

async function opened(objects = 1) {
  const shipped = await shippedJob(objects);
  const visitor = await Visitor.signedIn();
  const list = (await call<ObjectEntry[]>("GET", `/logship/jobs/${shipped.job}/objects`)).body.result;
  return { ...shipped, visitor, entries: list, path: `/jobs/${shipped.job}` };
}

describe("the objects of a job", () => {
  it("stand with the newest first, and lead to each", async () => {
    const { visitor, path, entries } = await opened(3);
    const { html, status } = await visitor.get(`${path}/objects`);
    const links = [...html.matchAll(/href="\/jobs\/\d+\/objects\/(\d+)"/g)].map(([, number]) => Number(number));
    expect([status, links]).toEqual([200, entries.map(({ number }) => number).toReversed()]);
    expect(textOf(html)).toContain("3 objects in 30 days");
    const newer = await visitor.get(`${path}/objects?after=${entries[0]?.number}`);
    expect([...newer.html.matchAll(/objects\/(\d+)"/g)].map(([, number]) => Number(number))).toEqual(
      entries
        .slice(1)
        .map(({ number }) => number)
        .toReversed(),
    );
    expect(newer.html).toContain(`/objects?before=${entries[1]?.number}`);
    for (const query of ["?after=x", "?before=-1", "?before=99999999999999999999"])
      expect((await visitor.get(`${path}/objects${query}`)).status).toBe(200);
  });

  it("open, and show each record as a row", async () => {
    const { visitor, path, entries } = await opened();
    const { html, status } = await visitor.get(`${path}/objects/${entries[0]?.number}`);
    expect([status, html.match(/<details class="record"/g)?.length]).toEqual([200, 10]);
    expect(textOf(html)).toContain("lines 1 to 10; 10 records");
    // An address that ends with a line opens its record, where a browser does so by itself.
    expect(html.match(/<\/summary><div class="record-details" id="line-\d+">/g)).toHaveLength(10);
    const after = await visitor.get(`${path}/objects/${entries[0]?.number}?skip=7`);
    expect([after.html.match(/<details class="record"/g)?.length, after.html.includes(">Previous<")]).toEqual([
      3,
      true,
    ]);
    expect(textOf((await visitor.get(`${path}/objects/${entries[0]?.number}?skip=99`)).html)).toContain(
      "No more records",
    );
  });

  it("are saved as they stand in the store", async () => {
    const { visitor, path, entries } = await opened();
    const file = await visitor.get(`${path}/objects/${entries[0]?.number}/download`);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "application/gzip"]);
    expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename="[\w.-]+\.log\.gz"$/);
  });

  it("say in their place what the store says, and the rest of the page stands", async () => {
    const { visitor, path, entries, control } = await opened();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "GET" })]);
    const here = `${path}/objects/${entries[0]?.number}`;
    const { html, status } = await visitor.get(here);
    expect(status).toBe(200);
    expect(textOf(html)).toContain("the job's credentials may not read it (HTTP 403 AccessDenied)");
    expect(textOf(html)).toContain("Download .gz");
    expect((await visitor.get(`${here}/download`)).status).toBe(403);
  });

  it("of a job that ships to a receiver are not asked for, nor copied", async () => {
    const { visitor, path, entries, job } = await opened();
    const { conf, service } = RECEIVERS.https as ReceiverFixture;
    receiving(conf, service().fetch);
    const moved = await call("PUT", `/logship/jobs/${job}`, { destination_conf: conf });
    expect(moved.status, JSON.stringify(moved.body.errors)).toBe(200);
    const { html, status } = await visitor.get(`${path}/objects/${entries[0]?.number}`);
    expect(status).toBe(200);
    expect(textOf(html)).toContain("logship cannot read a log service back. Look for the records there.");
    for (const words of ["cannot be shown", "Download .gz", "not verified"]) expect(textOf(html)).not.toContain(words);
    const about = await visitor.get(path);
    expect(about.html).not.toContain(`href="${path}/replay"`);
    expect(textOf(about.html)).not.toContain("not verified");
    const replay = await visitor.get(`${path}/replay`);
    expect(textOf(replay.html)).toContain("which logship cannot read back, so there is nothing to copy");
    expect(replay.html).not.toContain('name="since"');
  });

  it("that are not uploaded say so", async () => {
    const { visitor, path, control, oracle, clock, job } = await opened();
    await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
    await deliver(pack(oracle.mint(3), clock.nowMs()));
    await call("POST", `/logship/jobs/${job}/flush`);
    const all = (await call<ObjectEntry[]>("GET", `/logship/jobs/${job}/objects`)).body.result;
    const waiting = all.find(({ state }) => state === "waiting");
    const said = textOf((await visitor.get(`${path}/objects/${waiting?.number}`)).html);
    for (const words of ["Not uploaded yet", "waiting, retrying", "HTTP 503"]) expect(said).toContain(words);
    expect((await visitor.get(`${path}/objects/${waiting?.number}/download`)).status).toBe(409);
  });

  it("that wait are tried at once, or set aside, by a button each", async () => {
    const { visitor, path, control, oracle, clock, job } = await opened();
    await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
    await deliver(pack(oracle.mint(3), clock.nowMs()));
    await call("POST", `/logship/jobs/${job}/flush`);
    const at = `${path}/objects/2`;
    const id = `object-${job}-2`;
    const { html } = await visitor.get(at);
    expect([html.includes('action="/set-aside/resend"'), html.includes('action="/set-aside/add"')]).toEqual([
      true,
      true,
    ]);
    expect(textOf((await visitor.submit("/set-aside/resend", { id })).html)).toContain("1 of 1 resent");
    const added = await visitor.submit("/set-aside/add", { id });
    expect([added.status, added.location]).toEqual([303, `/set-aside/${id}`]);
    expect(textOf((await visitor.get(`/set-aside/${id}`)).html)).toContain("put on hold by hand");
    expect(textOf((await visitor.get(at)).html)).toContain("holds up no other");
    expect((await visitor.submit("/set-aside/add", { id: "object-99-1" })).status).toBe(404);
  });
});
