import { describe, expect, it } from "vitest";
import type { ObjectEntry } from "../../../src/ship/reader/statuses.ts";
import { shippedJob } from "../../operate/replay/shipped.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { deliver, pack } from "../../support/runtime/pipeline.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import { call, errorsOf, freshBucket, raw } from "./harness.ts";

interface Page {
  lines: { number: number; text: string; truncated: boolean }[];
  next: number | null;
}

async function delivered(objects = 1) {
  const shipped = await shippedJob(objects);
  const path = `/logship/jobs/${shipped.job}/objects`;
  const list = async (query = ""): Promise<ObjectEntry[]> =>
    (await call<ObjectEntry[]>("GET", path + query)).body.result;
  const [first] = await list();
  if (first === undefined) throw new Error("nothing is delivered");
  return {
    ...shipped,
    path,
    first,
    list,
    records: (query = "", number: number | string = first.number) =>
      call<Page>("GET", `${path}/${number}/records${query}`),
    /** Scripts the store's answer to a GET. */
    says: (action: Action) => shipped.control.script([rule(action, { method: "GET" })]),
  };
}

/** An object's file, or the refusal. */
const download = (path: string): Promise<Response> => raw(`${path}?download=true`);

describe("the records of an object", () => {
  it("are its lines, page by page", async () => {
    const { records, first } = await delivered();
    const { status, body } = await records("?limit=4");
    expect([status, body.result.lines.length, body.result.next]).toEqual([200, 4, 4]);
    const rest = (await records("?skip=4")).body.result;
    expect([rest.lines.length, rest.next]).toEqual([first.records - 4, null]);
    const all = [...body.result.lines, ...rest.lines];
    expect(all.map(({ number }) => number)).toEqual(Array.from({ length: first.records }, (_, i) => i + 1));
    for (const { text } of all) expect(JSON.parse(text)).toMatchObject({ EventTimestampMs: expect.any(Number) });
    expect((await records("?skip=999")).body.result).toEqual({ lines: [], next: null });
  });

  it("are read by one GET that is signed, and nothing is written", async () => {
    const { records, control, first } = await delivered();
    const before = (await control.requests()).length;
    await records();
    const after = (await control.requests()).slice(before);
    expect(after.map(({ method, key, status }) => [method, key, status])).toEqual([["GET", first.key, 200]]);
  });

  it("need the object to be delivered", async () => {
    const shipped = await delivered();
    await shipped.control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
    await deliver(pack(shipped.oracle.mint(3), shipped.clock.nowMs()));
    await call("POST", `/logship/jobs/${shipped.job}/flush`);
    const waiting = (await shipped.list()).find(({ state }) => state === "waiting");
    expect(errorsOf(await shipped.records("", waiting?.number))).toEqual([
      [1009, undefined, "the object cannot be read: it is not uploaded yet; flush the job, or wait"],
    ]);
    expect((await download(`${shipped.path}/${waiting?.number}`)).status).toBe(409);
  });

  it("of a copy that a replay wrote elsewhere are not here", async () => {
    const shipped = await delivered();
    const elsewhere = freshBucket();
    const { id } = await shipped.begin({
      since: "2100-11-20T00:00:00Z",
      until: "2100-11-21T00:00:00Z",
      destination_conf: destinationConf(elsewhere.name),
    });
    await shipped.settle(id);
    const copy = (await shipped.list()).find(({ replay }) => replay !== null);
    const answer = await shipped.records("", copy?.number);
    expect([answer.status, errorsOf(answer)[0]?.[2]]).toEqual([409, expect.stringContaining(elsewhere.name)]);
  });

  it("of a number that is none are not there, nor pages that are none", async () => {
    const { records } = await delivered();
    for (const number of ["0", "x", "99", "1e3", "999999999999999"]) {
      const answer = await records("", number);
      expect([number, answer.status, errorsOf(answer)[0]?.[0]]).toEqual([number, 404, 7003]);
    }
    for (const [query, message] of [
      ["?limit=201", "limit must be a whole number from 1 to 200"],
      ["?skip=-1", "skip must be a whole number from 0 to 1000000000"],
    ] as const)
      expect(errorsOf(await records(query))).toEqual([[1001, undefined, message]]);
  });
});

describe("a store that does not give the object", () => {
  it.each<[string, Action, number, RegExp]>([
    ["has removed it", { do: "answer", status: 404, code: "NoSuchKey" }, 404, /not there \(HTTP 404 NoSuchKey\)/],
    [
      "lets nobody read",
      { do: "answer", status: 403, code: "AccessDenied", message: "secret text" },
      403,
      /^(?!.*secret text).*write-only credentials/,
    ],
    ["sends elsewhere", { do: "redirect", location: "http://127.0.0.1:9/" }, 409, /never followed/],
    ["fails", { do: "answer", status: 500, code: "InternalError" }, 503, /HTTP 500 InternalError/],
    ["has another one", { do: "answer", status: 200, body: "<html>" }, 409, /bytes; \d+ were delivered/],
    ["breaks the connection", { do: "reset", when: "before" }, 503, /cannot be reached/],
  ])("that %s", async (_name, action, status, words) => {
    const { records, says, first, path } = await delivered();
    await says(action);
    const answer = await records();
    expect([answer.status, errorsOf(answer)[0]?.[2]]).toEqual([status, expect.stringMatching(words)]);
    // A download is refused in the same words, unless its head was already sent: then the body
    // breaks off.
    if (action.do === "answer" && action.status !== 200) {
      const file = await download(`${path}/${first.number}`);
      expect(file.status).toBe(status);
      await file.text();
    }
  });
});

describe("an object", () => {
  it("is read as the list has it, and saved as it stands in the store", async () => {
    const { path, first, control } = await delivered();
    expect((await call("GET", `${path}/${first.number}`)).body.result).toEqual(first);
    const file = await download(`${path}/${first.number}`);
    expect(file.status).toBe(200);
    expect(Object.fromEntries(file.headers)).toMatchObject({
      "content-type": "application/gzip",
      "content-disposition": `attachment; filename="${first.key.split("/").at(-1)}"`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
    });
    const bytes = new Uint8Array(await file.arrayBuffer());
    expect(bytes).toEqual(await control.object(first.key));
  });

  it("is listed with the newest first, page by page, in both directions", async () => {
    const { list } = await delivered(5);
    const numbers = async (query: string): Promise<number[]> => (await list(query)).map(({ number }) => number);
    const all = await numbers("");
    expect(all).toHaveLength(5);
    expect(await numbers("?before=9007199254740991&limit=2")).toEqual(all.toReversed().slice(0, 2));
    expect(await numbers(`?before=${all[3]}&limit=2`)).toEqual([all[2], all[1]]);
    expect(await numbers(`?before=${all[0]}`)).toEqual([]);
    expect(await numbers(`?after=${all[2]}`)).toEqual(all.slice(3));
  });
});
