/**
 * Many invocations at once, and large ones, over `tail()` and the RPC entrypoint of the real
 * service.
 */
import { it } from "vitest";
import { until } from "../../tools/until.ts";
import { noise } from "../formats/record/samples.ts";
import { firstPort } from "./ports.ts";
import { startProducer } from "./producer-process.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

const INVOCATIONS = 200;
const AT_ONCE = 50;

interface Shipped {
  ScriptName: string;
  Logs: { Message: string[] }[];
}

it(`ships ${INVOCATIONS} invocations in few messages, and large events among small ones, each once`, async ({
  expect,
}) => {
  await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
  const { api } = shipper;
  const producer = await startProducer(shipper, firstPort("producer"));
  try {
    const job = await api.createJob(jobInto("flood"));

    const paths = Array.from({ length: INVOCATIONS }, (_, i) => `/?event=flood-${i}`);
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
    const names = logged.map(({ Logs }) => `${Logs[0]?.Message[0]}`);
    expect(names.sort()).toEqual(paths.map((_, i) => `flood-${i}`).sort());
    const large = shipped.filter(({ ScriptName }) => ScriptName === "large") as (Shipped & { Outcome: string })[];
    expect(large.map(({ Outcome }) => Outcome).sort()).toEqual([
      "http-1",
      "http-22",
      "http-3",
      "rpc-1",
      "rpc-2",
      "rpc-3",
    ]);

    // Batches gather for a second: far fewer messages than invocations.
    const { counted } = await shipper.call<{ counted: { messages: number } }>("GET", "/logship/usage");
    expect(counted.messages).toBeGreaterThan(0);
    expect(counted.messages).toBeLessThan(60);
  } finally {
    await producer.stop();
  }
});
