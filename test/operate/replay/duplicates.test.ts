/** The count before a replay, where its copies may go, and that none get there twice unasked. */
import { describe, expect, it } from "vitest";
import { PRICES } from "../../../src/base/prices.ts";
import { SECRET_KEY } from "../../support/constants.ts";
import { createJob, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { ALL, at, expectCopied, RECORDS, type Shipped, shippedJob } from "./shipped.ts";

interface Estimate {
  since: string;
  until: string;
  planned: { objects: number; records: number; bytes: number };
  list_price_usd: number;
}

const estimate = (job: number, query: string) => call<Estimate>("GET", `/logship/jobs/${job}/replay/estimate?${query}`);

/** A request as clients send it: nothing is allowed beforehand. */
const begin = (shipped: Shipped, body: object) =>
  call<{ id: string }>("POST", `/logship/jobs/${shipped.job}/replay`, body);

const pointers = ({ body }: { body: { errors: { code: number; source?: { pointer?: string } }[] } }) =>
  body.errors.map(({ code, source }) => [code, source?.pointer]);

describe("the count before a replay", () => {
  it("is what a replay plans, with its price, and starts nothing", async () => {
    const shipped = await shippedJob(3);
    const { status, body } = await estimate(shipped.job, `since=${at(0)}&until=${at(2)}`);
    const perObject =
      PRICES.storeClassA.dollars +
      PRICES.storeClassB.dollars +
      6.0625 * PRICES.rowsWritten.dollars +
      2 * PRICES.objectRequests.dollars;
    expect([status, body.result]).toEqual([
      200,
      {
        since: at(0),
        until: at(2),
        planned: { objects: 2, records: 2 * RECORDS, bytes: expect.any(Number) },
        list_price_usd: expect.closeTo((2 * perObject) / 1e6, 12),
      },
    ]);
    expect(await shipped.list()).toEqual([]);
    expect((await shipped.begin({ since: at(0), until: at(2) })).planned).toEqual(body.result.planned);
  });

  it("says that there is nothing, and refuses what is no time, and no job", async () => {
    const shipped = await shippedJob(1);
    const none = await estimate(shipped.job, `since=${at(100)}&until=${at(101)}`);
    expect(none.body.result).toMatchObject({ planned: { objects: 0, records: 0, bytes: 0 }, list_price_usd: 0 });
    expect(none.body.messages.map(({ message }) => message)).toEqual([
      "nothing to replay: no delivered object has events in that time",
    ]);
    for (const query of ["", "since=x&until=y", `since=${at(0)}`, `since=${at(2)}&until=${at(1)}`])
      expect((await estimate(shipped.job, query)).status).toBe(400);
    expect((await estimate(999, `since=${at(0)}&until=${at(1)}`)).status).toBe(404);
  });
});

describe("a replay into a folder that holds its records", () => {
  const own = (shipped: Shipped, path = "logs/{DATE}") => destinationConf(shipped.name, path);

  it.each<[string, (shipped: Shipped) => object]>([
    ["named by nothing", () => ({})],
    ["named as the job's destination", (shipped) => ({ destination_conf: own(shipped) })],
    [
      "named with masked secrets",
      (shipped) => ({ destination_conf: own(shipped).replace(/(key(?:-id)?)=[^&]*/g, "$1=****") }),
    ],
    ["named as that of the job", (shipped) => ({ destination_of_job: shipped.job })],
    ["where false is sent", () => ({ allow_duplicates: false })],
    ["named by its day", (shipped) => ({ destination_conf: own(shipped, "logs/21001120") })],
  ])("is refused, %s", async (_how, to) => {
    const shipped = await shippedJob(2);
    const puts = await shipped.control.puts();
    const refused = await begin(shipped, { ...ALL, ...to(shipped) });
    expect([refused.status, pointers(refused)]).toEqual([400, [[1004, "/allow_duplicates"]]]);
    expect(refused.body.errors[0]?.message).toBe(
      `replaying job ${shipped.job} is not allowed: ${2 * RECORDS} records in 2 objects would be in that folder twice, the second time under new keys: the job ships there; name another path or destination, or send allow_duplicates: true`,
    );
    expect([await shipped.list(), await shipped.control.puts()]).toEqual([[], puts]);
  });

  it("is refused where an earlier one of that time wrote, and not where it wrote nothing, or other times", async () => {
    const shipped = await shippedJob(4);
    const conf = destinationConf(freshBucket().name, "again/{DATE}");
    const first = { since: at(0), until: at(2), destination_conf: conf };
    const { id } = (await begin(shipped, first)).body.result;
    // The same, while it is under way.
    expect((await begin(shipped, first)).status).toBe(409);
    // Another one that overlaps.
    const overlap = { since: at(1), until: at(3), destination_conf: conf };
    expect(pointers(await begin(shipped, overlap))).toEqual([[1004, "/allow_duplicates"]]);
    await shipped.settle(id);
    for (const body of [first, overlap]) {
      const refused = await begin(shipped, body);
      expect(pointers(refused)).toEqual([[1004, "/allow_duplicates"]]);
      expect(refused.body.errors[0]?.message).toContain(`replay ${id} has shipped them there`);
    }
    expect((await begin(shipped, { ...overlap, since: at(2) })).status).toBe(202);
    expect((await begin(shipped, { ...overlap, allow_duplicates: true })).status).toBe(202);
    expect((await begin(shipped, { ...overlap, destination_conf: conf.replace("again/", "more/") })).status).toBe(202);
  });

  it("is refused where the store shows the records, under another name of its host", async () => {
    const shipped = await shippedJob(2);
    const alias = own(shipped).replace("127.0.0.1", "localhost");
    const refused = await begin(shipped, { ...ALL, destination_conf: alias });
    expect(pointers(refused)).toEqual([[1004, "/allow_duplicates"]]);
    expect(refused.body.errors[0]?.message).toContain(
      "the store already has the job's logs/21001120/21001120T120000Z_",
    );
    expect((await begin(shipped, { ...ALL, destination_conf: alias, allow_duplicates: true })).status).toBe(202);
    const inPath = destinationConf("logs", "{DATE}").replace(/(endpoint=[^&]*)/, `$1%2F${shipped.name}`);
    expect(pointers(await begin(shipped, { ...ALL, destination_conf: inPath }))).toEqual([[1004, "/allow_duplicates"]]);
    // A bucket of the same name elsewhere, without them.
    const elsewhere = await shippedJob(1);
    await elsewhere.control.forget();
    const copy = own(elsewhere).replace("127.0.0.1", "localhost");
    expect((await begin(elsewhere, { ...ALL, destination_conf: copy })).status).toBe(202);
  });

  it("is refused for the object that reaches over the end of an earlier one", async () => {
    const shipped = await shippedJob(3);
    const destination_conf = destinationConf(freshBucket().name, "again/{DATE}");
    const amid = new Date(Date.parse(at(1)) + 3).toISOString();
    const { id } = (await begin(shipped, { since: at(0), until: amid, destination_conf })).body.result;
    await shipped.settle(id);
    const refused = await begin(shipped, { since: amid, until: at(3), destination_conf });
    expect(pointers(refused)).toEqual([[1004, "/allow_duplicates"]]);
    expect(refused.body.errors[0]?.message).toContain(
      `${RECORDS} records in 1 object would be in that folder twice, the second time under new keys: replay ${id} has shipped them there`,
    );
    expect((await begin(shipped, { since: at(2), until: at(3), destination_conf })).status).toBe(202);
  });

  it("begins once where several are asked for at once", async () => {
    const shipped = await shippedJob(3);
    const destination_conf = destinationConf(freshBucket().name, "again/{DATE}");
    const spans = [2, 3, 4].map((until) => ({ since: at(0), until: at(until), destination_conf }));
    const answers = await Promise.all(spans.map((body) => begin(shipped, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 400, 400]);
    for (const answer of answers.filter(({ status }) => status === 400))
      expect(pointers(answer)).toEqual([[1004, "/allow_duplicates"]]);
  });

  it("is no matter where nothing would be shipped", async () => {
    const shipped = await shippedJob(1);
    expect((await begin(shipped, { since: at(100), until: at(101) })).status).toBe(202);
  });
});

describe("another folder", () => {
  it.each([
    ["{SCRIPT}/{DATE}", "copy/{SCRIPT}/hour={HOUR}", "copy/shop/hour=12"],
    ["logs/{DATE}", "copy/{SCRIPT}/{DATE_ISO}", "copy/_mixed/2100-11-20"],
    ["{HOUR}", "copy/{DATE}", "copy/21001120"],
  ])("tells apart what its own path does: from %s to %s", async (from, to, folder) => {
    const shipped = await shippedJob(2, from);
    const conf = destinationConf(shipped.name, to);
    const { id } = (await begin(shipped, { ...ALL, destination_conf: conf })).body.result;
    expect(await shipped.settle(id)).toMatchObject({ state: "done", done: { objects: 2 } });
    const { copies } = await shipped.objects();
    expect(copies.map(({ key }) => key.slice(0, key.lastIndexOf("/")))).toEqual([folder, folder]);
  });

  it.each([
    ["{SCRIPT}/{DATE}", "{SCRIPT}/{YYYY}{MM}{DD}", "the job ships there"],
    ["{SCRIPT}/{DATE}", "shop/{DATE}", "the store already has the job's shop/21001120/"],
    ["dt={DATE_ISO}/hour={HOUR}", "dt=2100-11-20/hour=12", "the job ships there"],
  ])("is none where it is the same by another path: from %s to %s", async (from, to, why) => {
    const shipped = await shippedJob(2, from);
    const refused = await begin(shipped, { ...ALL, destination_conf: destinationConf(shipped.name, to) });
    expect(pointers(refused)).toEqual([[1004, "/allow_duplicates"]]);
    expect(refused.body.errors[0]?.message).toContain(why);
  });

  it("of the job's bucket is written to with the job's stored keys", async () => {
    const shipped = await shippedJob(2);
    const masked = destinationConf(shipped.name, "again/{DATE}").replace(/(key(?:-id)?)=[^&]*/g, "$1=****");
    const { id } = (await begin(shipped, { ...ALL, destination_conf: masked })).body.result;
    expect(await shipped.settle(id)).toMatchObject({ state: "done", done: { objects: 2 } });
    const { copies } = await shipped.objects();
    for (const { key } of copies) expect(key).toMatch(/^again\/21001120\//);
  });

  it.each([
    ["bucket", (conf: string) => conf.replace(/\/\/[^/]+/, "//another-bucket")],
    ["endpoint", (conf: string) => conf.replace(/endpoint=[^&]*/, "endpoint=https%3A%2F%2Fevil.example")],
    ["region's name as a scheme", (conf: string) => conf.replace(/^s3:/, "r2:")],
  ])("of another %s does not get them", async (_what, elsewhere) => {
    const shipped = await shippedJob(1);
    const masked = destinationConf(shipped.name, "again/{DATE}").replace(/(key(?:-id)?)=[^&]*/g, "$1=****");
    const refused = await begin(shipped, { ...ALL, destination_conf: elsewhere(masked) });
    expect([refused.status, pointers(refused)]).toEqual([400, [[1004, "/destination_conf"]]]);
    expect(await shipped.list()).toEqual([]);
  });

  it("of another job is reached by its number", async () => {
    const shipped = await shippedJob(2);
    const other = freshBucket();
    const job = await createJob(other.name);
    const begun = await begin(shipped, { ...ALL, destination_of_job: job });
    expect(begun.status).toBe(202);
    expect(JSON.stringify(begun.body)).not.toContain(SECRET_KEY);
    await shipped.settle(begun.body.result.id);
    await expectCopied(shipped, begun.body.result.id, { into: other.control, objects: 2 });
  });

  it("of a job that is not there, or beside a destination, is refused", async () => {
    const shipped = await shippedJob(1);
    for (const body of [
      { destination_of_job: 999 },
      { destination_of_job: shipped.job, destination_conf: destinationConf("x") },
    ])
      expect(pointers(await begin(shipped, { ...ALL, ...body }))).toEqual([[1004, "/destination_of_job"]]);
  });
});
