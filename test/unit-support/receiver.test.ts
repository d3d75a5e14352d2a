/** The receivers of the scripted endpoint: what they refuse, keep, and show; and their audit. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { assertClean, Oracle } from "../support/oracle.ts";
import { rule } from "../support/s3-script.ts";
import { server } from "./s3-client.ts";

let count = 0;
const fresh = (dialect: string): string => `receiver-${dialect}-${++count}`;

function post(name: string, text: string, id = "id-1", headers: Record<string, string> = {}): Promise<Response> {
  const path = name.includes("elastic") ? "/in/_bulk" : "/in";
  return fetch(`${server.url}${path}`, {
    method: "POST",
    headers: {
      ...{ "x-receiver": name, "content-type": "application/x-ndjson", "content-encoding": "gzip" },
      ...{ "idempotency-key": id, ...headers },
    },
    body: new Uint8Array(gzipSync(text)),
  });
}

const bulk = (...ids: string[]): string =>
  ids.map((id) => `{"create":{"_id":"${id}"}}\n{"@timestamp":"2026-11-20T12:00:00.000Z","id":"${id}"}\n`).join("");

async function statuses(answer: Response): Promise<number[]> {
  const { items } = (await answer.json()) as { items: { create: { status: number } }[] };
  return items.map(({ create }) => create.status);
}

const keptBy = (name: string): string[] =>
  server.puts(name).map(({ key, version }) => new TextDecoder().decode(server.object(name, key, version)));

describe("an address of its own", () => {
  it("keeps what it is sent as often as it is sent, and no test record", async () => {
    const name = fresh("https");
    const sent = [await post(name, '{"a":1}\n'), await post(name, '{"a":1}\n'), await post(name, "{}\n", "test-1")];
    expect(sent.map(({ status }) => status)).toEqual([204, 204, 204]);
    expect(keptBy(name)).toEqual(['{"a":1}\n', '{"a":1}\n']);
    const [first, again] = server.requests(name);
    expect(first).toMatchObject({ key: "/in/id-1", stored: true });
    expect(first?.headers["content-sha256"]).toBe(again?.headers["content-sha256"]);
  });

  it("takes all of a request or nothing", async () => {
    const name = fresh("https");
    server.script(name, [rule({ do: "limit", records: 2 })]);
    const bodies = ['{"a":1}\n{"a":"poison"}\n', "{}\n{}\n{}\n"];
    const answers = await Promise.all(bodies.map((text) => post(name, text)));
    const odd = await post(name, "{}\n", "id", { "content-type": "text/plain" });
    expect([...answers, odd].map(({ status }) => status)).toEqual([400, 413, 415]);
    expect(keptBy(name)).toEqual([]);
  });
});

describe("Elasticsearch", () => {
  it("takes each record by itself, and once", async () => {
    const name = fresh("elastic");
    server.script(name, [rule({ do: "refuse", each: 2, status: 429 }, {}, 1)]);
    expect(await statuses(await post(name, bulk("a", "b", "c")))).toEqual([201, 429, 201]);
    expect(await statuses(await post(name, bulk("a", "b", "poison")))).toEqual([409, 201, 400]);
    expect(keptBy(name)).toEqual(['{"id":"a"}\n{"id":"c"}\n', '{"id":"b"}\n']);
  });

  it("refuses what is no bulk request, and a record at another time than its own", async () => {
    const name = fresh("elastic");
    expect((await post(name, bulk("a").trimEnd())).status).toBe(400);
    const late = '{"create":{"_id":"a"}}\n{"@timestamp":"2026-11-20T12:00:00.000Z","EventTimestampMs":1}\n';
    expect(await statuses(await post(name, late))).toEqual([400]);
    expect(keptBy(name)).toEqual([]);
  });
});

it("is audited by record: missing, there twice, and not owed", () => {
  const oracle = new Oracle();
  const events = oracle.mint(3);
  oracle.acknowledged(1, events);
  const body = (of: readonly { record: object }[]) =>
    new TextEncoder().encode(of.map(({ record }) => `${JSON.stringify(record)}\n`).join(""));
  const audit = (...bodies: (readonly { record: object }[])[]) =>
    oracle.audit(
      1,
      bodies.map((of, n) => ({ key: `/in/${n}`, bytes: body(of) })),
      { areBodies: true },
    );
  expect(() => assertClean(audit(events))).not.toThrow();
  const report = audit(events.slice(0, 2), events.slice(1, 2), oracle.mint(1));
  expect([report.missing.length, report.duplicated.length, report.invented.length]).toEqual([1, 1, 1]);
});
