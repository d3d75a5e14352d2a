/** The pages of objects, their records, and replays. */
import { describe, expect, it } from "vitest";
import type { ObjectEntry } from "../../src/delivery/types.ts";
import { call, freshBucket } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { at, shippedJob } from "../replay/shipped.ts";
import { SECRET_KEY } from "../support/constants.ts";
import { destinationConf } from "../support/runtime/api.ts";
import { deliver, pack } from "../support/runtime/pipeline.ts";
import { rule } from "../support/s3-script.ts";
import { textOf, Visitor } from "./support.ts";

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
    expect([status, html.match(/<details class="record">/g)?.length]).toEqual([200, 10]);
    expect(textOf(html)).toContain("lines 1 to 10; 10 records");
    const after = await visitor.get(`${path}/objects/${entries[0]?.number}?skip=7`);
    expect([after.html.match(/<details class="record">/g)?.length, after.html.includes(">Previous<")]).toEqual([
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
});

describe("the page of replays", () => {
  it("begins one, shows how far it is, and what did not go", async () => {
    const shipped = await opened(3);
    const { visitor, path, control, entries } = shipped;
    expect(textOf((await visitor.get(`${path}/replay`)).html)).toContain("No replays yet");
    await control.script([
      rule({ do: "answer", status: 404, code: "NoSuchKey" }, { method: "GET", keyIncludes: entries[1]?.key ?? "?" }),
    ]);
    const since = at(0).slice(0, 16).replace("T", " ");
    const begun = await visitor.submit(`${path}/replay`, { since, until: at(100) });
    expect(begun.location).toBe(`${path}/replay#replays`);
    const running = await visitor.get(`${path}/replay`);
    expect(running.html).toContain('data-refresh="3"');
    expect(textOf(running.html)).toContain("0 of 3 objects shipped");
    expect(textOf(running.html)).toContain("Cancel the replay of 2100-11-20 12:00 to");
    const [replay] = await shipped.list();
    await shipped.settle(replay?.id ?? "");
    const over = await visitor.get(`${path}/replay`);
    expect(over.html).not.toContain('data-refresh="3"');
    expect(textOf(over.html)).toContain("done, with gaps");
    const detail = textOf((await visitor.get(`${path}/replay/${replay?.id}`)).html);
    for (const words of ["2 of 3 objects shipped", "1 missing", entries[1]?.key ?? "?", "NoSuchKey"])
      expect(detail).toContain(words);
    expect(textOf((await visitor.get(path)).html)).toContain("20 records in 2 objects");
  });

  it("of nothing says that there was nothing", async () => {
    const { visitor, path } = await opened();
    await visitor.submit(`${path}/replay`, { since: "2100-11-01", until: "2100-11-02" });
    expect(textOf((await visitor.get(`${path}/replay`)).html)).toContain("No objects in this time range.");
  });

  it("cancels one", async () => {
    const shipped = await opened(2);
    const { visitor, path } = shipped;
    await visitor.submit(`${path}/replay`, { since: at(0), until: at(100) });
    const [replay] = await shipped.list();
    const answer = await visitor.submit(`${path}/replay/${replay?.id}/cancel`);
    expect(answer.location).toBe(`${path}/replay#replays`);
    expect(textOf((await visitor.get(`${path}/replay`)).html)).toContain("cancelled");
    expect((await visitor.submit(`${path}/replay/${"0".repeat(32)}/cancel`)).status).toBe(404);
  });

  it("shows what is wrong beside each field, what was sent, and no key", async () => {
    const { visitor, path } = await opened();
    const refused = await visitor.submit(`${path}/replay`, {
      since: "yesterday",
      until: "<now>",
      destination_conf: "",
    });
    expect(refused.status).toBe(400);
    expect(refused.html).toMatch(/id="field-since"[^>]*/);
    expect(refused.html).toContain('id="field-since-error"');
    expect(refused.html).toContain('value="yesterday"');
    expect(refused.html).toContain('value="&lt;now&gt;"');
    const backwards = await visitor.submit(`${path}/replay`, { since: at(2), until: at(1) });
    expect(textOf(backwards.html)).toContain("until: must be later than since");
    const conf = destinationConf(freshBucket().name).replace("region=auto", "region=A!");
    const bad = await visitor.submit(`${path}/replay`, { since: at(0), until: at(9), destination_conf: conf });
    expect([bad.status, bad.html.includes(SECRET_KEY)]).toEqual([400, false]);
    expect(bad.html).toContain('id="field-destination_conf-error"');
    expect(bad.html).toContain("secret-access-key=****");
    // In a broken destination, any part may be a key.
    const broken = [
      conf.replace("?", "&"),
      conf.replace(/\/[^/?]*\?/, "&"),
      conf.replace("secret-access-key=", "secret_access_key="),
      conf.replace(SECRET_KEY, `x&${SECRET_KEY}`),
    ];
    for (const destination_conf of broken) {
      const { status, html } = await visitor.submit(`${path}/replay`, { since: at(0), until: at(9), destination_conf });
      expect([destination_conf, status, html.includes(SECRET_KEY)]).toEqual([destination_conf, 400, false]);
    }
  });

  it("goes to another destination, and never shows its keys", async () => {
    const shipped = await opened();
    const { visitor, path } = shipped;
    const elsewhere = freshBucket();
    await visitor.submit(`${path}/replay`, {
      since: at(0),
      until: at(9),
      destination_conf: destinationConf(elsewhere.name),
    });
    const [replay] = await shipped.list();
    await shipped.settle(replay?.id ?? "");
    expect(textOf((await visitor.get(`${path}/replay`)).html)).toContain(`s3://${elsewhere.name}/`);
    const all = (await call<ObjectEntry[]>("GET", `/logship${path}/objects`)).body.result;
    const copy = all.find((each) => each.replay !== null);
    const said = textOf((await visitor.get(`${path}/objects/${copy?.number}`)).html);
    expect(said).toContain("Records not available here");
    expect(said).toContain(elsewhere.name);
  });

  it("is for reading to whoever may not begin one", async () => {
    const { path } = await opened();
    const { secret } = await token(["logs:read"]);
    const { html, status } = await (await Visitor.signedIn({ token: secret })).get(`${path}/replay`);
    expect(status).toBe(200);
    expect(textOf(html)).toContain("Starting a replay needs the permission logs:edit.");
    expect(html).not.toContain("Start replay");
  });
});
