/**
 * Many invocations at once, and large ones, over `tail()` and the RPC entrypoint of the real
 * service.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import { until } from "../../tools/until.ts";
import { noise } from "../formats/record/samples.ts";
import { openOnDisk } from "./disk.ts";
import { firstPort } from "./ports.ts";
import { startProducer } from "./producer-process.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

const INVOCATIONS = 600;
const AT_ONCE = 50;
const LOGS_CUT = "<<<Logship: messages truncated>>>";

interface Shipped {
  EventTimestampMs: number;
  EventType: string;
  ScriptName: string;
  Logs: { Message: string[] }[];
}

it(`ships ${INVOCATIONS} invocations in few messages, and large ones among them, each once and no longer than it may be`, async ({
  expect,
}) => {
  await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
  const { api } = shipper;
  const producer = await startProducer(shipper, firstPort("producer"));
  try {
    const job = await api.createJob(jobInto("flood"));

    const paths = Array.from({ length: INVOCATIONS }, (_, i) => `/?event=flood-${i}`);
    // One log of 20,000 characters; 300 logs; more than the 256 kB that a trace item holds.
    paths.splice(100, 0, "/?event=long&characters=20000");
    paths.splice(300, 0, "/?event=many&logs=300");
    paths.splice(500, 0, "/?event=huge&logs=30&characters=10000");
    const todo = paths.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const path of todo) await (await fetch(producer.url + path)).arrayBuffer();
      }),
    );
    // 1 MiB that hardly compresses, among small events, over RPC and over HTTP.
    const megabyte = (name: string) => {
      const record = { Outcome: name, ScriptName: "large", EventTimestampMs: Date.now(), Event: { Cron: "" } };
      const text = noise(1_048_576 - 1_000, name.length).replaceAll(/["\\]/g, "'");
      return { ...record, Event: { Cron: text } };
    };
    const small = (name: string) => ({ Outcome: name, ScriptName: "large", EventTimestampMs: Date.now() });
    const body = JSON.stringify([small("rpc-1"), megabyte("rpc-2"), small("rpc-3")]);
    for (let repeat = 0; repeat < 2; repeat++) {
      const answer = await fetch(`${producer.url}/ship?key=k`, { method: "POST", body });
      expect([answer.status, await answer.json()]).toEqual([202, { accepted: 3, unknownKeys: [] }]);
    }
    const refused = await fetch(`${producer.url}/ship`, { method: "POST", body: '[{"event":null},{}]' });
    expect([refused.status, await refused.json()]).toEqual([400, { error: expect.stringContaining("/1: neither") }]);
    expect(await api.postEvents([small("http-1"), megabyte("http-22"), small("http-3")])).toBe(3);

    // The calls of /ship are invocations too.
    const events = paths.length + 3 + 6;
    await until({
      what: `the ledger to show ${events} received`,
      withinMs: RECEIVED_WITHIN_MS,
      look: () => api.jobLedger(job.id),
      enough: ({ received }) => received >= events,
    });
    await api.flush(job.id);
    const ledger = await until({
      what: "the ledger to show nothing pending",
      withinMs: 60_000,
      look: () => api.jobLedger(job.id),
      enough: ({ pending }) => pending === 0,
    });
    expect(ledger).toMatchObject({ received: events, delivered: events });

    const shipped = (await shipper.recordsBelow("flood")) as Shipped[];
    const logged = shipped.filter(({ ScriptName, Logs }) => ScriptName !== "large" && Logs.length > 0);
    const named = new Map(logged.map((record) => [record.Logs[0]?.Message[0]?.split(" ")[0], record.Logs]));
    expect(logged.length).toBe(paths.length);
    expect(named.size).toBe(paths.length);
    for (let i = 0; i < INVOCATIONS; i++) expect(named.has(`flood-${i}`), `flood-${i}`).toBe(true);
    expect(named.get("long")?.map(({ Message }) => Message)).toEqual([["long 0", "x".repeat(16_378) + LOGS_CUT]]);
    expect(named.get("many")?.map(({ Message }) => Message)).toEqual(
      Array.from({ length: 300 }, (_, n) => [`many ${n}`, ""]),
    );
    expect(named.get("huge")?.map(({ Message }) => Message)).toEqual([
      ["huge 0", "x".repeat(10_000)],
      ["huge 1", "x".repeat(6_384 - 12) + LOGS_CUT],
      [LOGS_CUT],
    ]);
    const large = shipped.filter(({ ScriptName }) => ScriptName === "large") as (Shipped & { Outcome: string })[];
    expect(large.map(({ Outcome }) => Outcome).sort()).toEqual([
      "http-1",
      "http-22",
      "http-3",
      "rpc-1",
      "rpc-2",
      "rpc-3",
    ]);

    await producer.stop();
    await shipper.stop();
    const messages = countedMessages(shipper.state);
    // Batches gather for one second and 600 requests took several: far fewer messages than
    // invocations.
    expect(messages).toBeLessThan(60);
  } finally {
    await producer.stop();
  }
});

/**
 * How many messages the account's ledger has counted: 16 bytes each, in the files of the stopped
 * service.
 */
function countedMessages(state: string): number {
  const files = readdirSync(join(state, "v3/do/logship-TraceLog")).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  let bytes = 0;
  for (const file of files) {
    const db = openOnDisk(join(state, "v3/do/logship-TraceLog", file));
    bytes += Number(db.prepare("SELECT coalesce(sum(length(ids)), 0) AS n FROM taken").get()?.n ?? 0);
    db.close();
  }
  return bytes / 16;
}
