/** The service ships into Azurite, which is killed in the middle; every blob is read back. */
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import type { JobLedger } from "../../tools/client/api-results.ts";
import { until } from "../../tools/until.ts";
import { IsolatedShipper } from "../e2e/shipper.ts";
import { AZURE_ACCOUNT, accountSas, containerSas } from "../support/azure-sas.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { Azurite } from "./azurite.ts";

const PATH = "logs/{DATE}";
/** Events of each of these days make a blob. */
const DAYS = 3;
const EVENTS = 150;
const WITHIN_MS = 90_000;

const SAS: Readonly<Record<string, (container: string) => string>> = {
  account: () => accountSas("rcw"),
  "create-only": (container) => containerSas(container, "rc"),
};

beforeAll(() => Azurite.install());

it("ships every event once through kills of Azurite, by a SAS of each kind", async () => {
  await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
  await using azurite = await Azurite.start(join(shipper.folder, "azurite"));
  const { api } = shipper;
  const oracle = new Oracle({ name: "azurite", at: Date.now() });
  const jobs: { id: number; container: string }[] = [];
  for (const [container, sas] of Object.entries(SAS)) {
    await azurite.createContainer(container);
    const conf = `azure://${azurite.host}/${AZURE_ACCOUNT}/${container}/${PATH}?${sas(container)}`;
    const { id } = await api.createJob({ name: container, enabled: true, destination_conf: conf });
    jobs.push({ id, container });
  }
  const flush = () => Promise.allSettled(jobs.map(({ id }) => api.flush(id)));
  const ledgers = (what: string, enough: (counts: JobLedger) => boolean): Promise<JobLedger[]> =>
    until({
      what,
      withinMs: WITHIN_MS,
      look: async () => {
        await flush();
        return Promise.all(jobs.map(({ id }) => api.jobLedger(id)));
      },
      enough: (all) => all.every(enough),
    });
  const post = async (): Promise<void> => {
    const events = oracle.mint(EVENTS, { days: DAYS });
    await api.postEvents(events.map(({ event }) => event));
    for (const { id } of jobs) oracle.acknowledged(id, events);
  };

  await post();
  await ledgers("all to be delivered", ({ delivered }) => delivered === EVENTS);

  // Its answers are lost: it has the blobs, and the logs do not know.
  azurite.manner = "deaf";
  await post();
  await until({
    what: "all blobs to be taken",
    withinMs: WITHIN_MS,
    look: async () => {
      void flush();
      return azurite.dropped.filter((line) => line.includes(" 201 ")).length;
    },
    enough: (taken) => taken >= DAYS * jobs.length,
  });
  await azurite.keeps(2 * DAYS * jobs.length, ".log.gz");
  await azurite.kill();

  // It is down; then it dies within the bodies.
  await post();
  const down = await ledgers("all to be received", ({ received }) => received === 3 * EVENTS);
  expect(down.map(({ delivered }) => delivered)).toEqual(jobs.map(() => EVENTS));
  azurite.manner = { bytes: 400 };
  await azurite.restart();
  await until({
    what: "a body to be cut",
    withinMs: WITHIN_MS,
    look: async () => {
      void flush();
      return azurite.cut;
    },
    enough: (cut) => cut > 0,
  });
  await azurite.kill();
  azurite.manner = "pass";
  await azurite.restart();

  await ledgers("all to be delivered", ({ delivered }) => delivered === 3 * EVENTS);
  for (const { id, container } of jobs) {
    const blobs = (await azurite.blobs(container)).filter(({ key }) => key.endsWith(".log.gz"));
    const report = oracle.audit(id, blobs, { path: PATH });
    assertClean(report);
    expect(report.records).toBe(3 * EVENTS);
    const objects = await api.objects(id);
    expect(objects.map(({ key, state }) => `${key} ${state}`).sort()).toEqual(
      blobs.map(({ key }) => `${key} delivered`).sort(),
    );
  }
});
