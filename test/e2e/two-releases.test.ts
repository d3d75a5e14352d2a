/**
 * Two releases at once: for minutes after a deployment, objects that are at work keep the code
 * before, and handlers of the new code call them; after a rollback, the reverse. Here each half, in
 * one process, is of this code or of the release in test/fixtures/release, and this code adds a
 * field to each call and a block to each message, as a later one may.
 */
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import type { BuiltWorker } from "../../tools/servers/dev-server.ts";
import { until } from "../../tools/until.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { drain, receivedBy } from "./fault-support.ts";
import { IsolatedShipper, jobInto, pathOf, RECEIVED_WITHIN_MS } from "./shipper.ts";

const RELEASE = join(ROOT, "test/fixtures/release/built");

const CLASSES = [
  ...["ControlPlane", "TraceLog", "JobReader", "AccessRegister", "Watch"],
  ...["Replays", "Live", "Packer", "SketchStore"],
] as const;

type Class = (typeof CLASSES)[number];

/** Which code each half runs: `later` is this code with a field added to each call. */
interface Mix {
  handlers: "later" | "release";
  objects: (name: Class) => "later" | "release";
}

const MIXES: Readonly<Record<string, Mix>> = {
  "later handlers, objects of the release": { handlers: "later", objects: () => "release" },
  "handlers of the release, later objects": { handlers: "release", objects: () => "later" },
  "later readers, shards of the release": {
    handlers: "release",
    objects: (name) => (name === "TraceLog" || name === "ControlPlane" ? "release" : "later"),
  },
  "readers of the release, later shards": {
    handlers: "later",
    objects: (name) => (name === "TraceLog" || name === "ControlPlane" ? "later" : "release"),
  },
};

/** Both codes are modules of their own, whose scripts and style sheets for browsers are text. */
const TEXT_FIRST = [
  { type: "Text", globs: ["**/*.client.js", "**/*.css"] },
  { type: "ESModule", globs: ["**/*.js"], fallthrough: false },
];

/** One Worker of both codes. */
function mixed(folder: string, built: BuiltWorker, n: number, { handlers, objects }: Mix): BuiltWorker {
  const own = join(folder, `mix${n}`);
  mkdirSync(own);
  cpSync(RELEASE, join(own, "release"), { recursive: true });
  cpSync(dirname(built.script), join(own, "head"), { recursive: true });
  for (const name of ["grown.js", "later.js"])
    copyFileSync(join(import.meta.dirname, "two-releases", name), join(own, name));
  const from = { later: "./later.js", release: "./release/index.js" };
  const lines = CLASSES.map((name) => `export { ${name} } from "${from[objects(name)]}";`);
  writeFileSync(
    join(own, "index.js"),
    [...lines, `export { default, Shipper } from "${from[handlers]}";`, ""].join("\n"),
  );
  const config = join(own, "wrangler.jsonc");
  const rules = `"rules": [${TEXT_FIRST.map((rule) => JSON.stringify(rule)).join(", ")}],\n`;
  writeFileSync(config, readFileSync(built.config, "utf8").replace(/"rules": \[.*\],\n/, rules));
  return { config, script: join(own, "index.js") };
}

describe("two releases at once", () => {
  it("ship every record once, whichever is the caller", { timeout: 300_000 }, async ({ expect }) => {
    await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
    const oracle = new Oracle({ name: "mix", at: Date.now() });
    const jobs = [await shipper.api.createJob(jobInto("first", { max_upload_interval_seconds: 300 }))];
    const head = shipper.built;
    let taken = 0;
    for (const [n, [what, mix]] of Object.entries(MIXES).entries()) {
      await shipper.crashAndRestart({ built: mixed(shipper.folder, head, n, mix) });
      const events = oracle.mint(40);
      const bodies = events.map(({ event }) => event);
      const [keyed, others] = [bodies.slice(0, 20), bodies.slice(20)];
      for (let copy = 0; copy < 2; copy++) await shipper.api.postEvents(keyed, { idempotencyKey: `request ${n}` });
      await shipper.api.postEvents(others);
      taken += 40;
      for (const { id } of jobs) oracle.acknowledged(id, events);
      for (const job of jobs) await receivedBy(shipper.api, job, job === jobs[0] ? taken : 40 * n);
      const counts = await until({
        what: `the log to have counted them: ${what}`,
        withinMs: RECEIVED_WITHIN_MS,
        look: () => shipper.api.accountLedger(),
        enough: ({ processed }) => processed >= taken,
      });
      expect(counts, what).toMatchObject({ processed: taken, routed: taken, set_aside: 0 });
      if (jobs.length === 1)
        jobs.push(await shipper.api.createJob(jobInto("second", { max_upload_interval_seconds: 300 })));
      await shipper.api.updateJob(jobs[0]?.id ?? 0, { max_upload_records: 1_000 * (n + 1) });
    }
    for (const [i, job] of jobs.entries()) {
      const folder = i === 0 ? "first" : "second";
      await drain(shipper.api, job);
      assertClean(oracle.audit(job.id, await shipper.bucket.read(`${folder}/`), { path: pathOf(folder) }));
    }
  });
});
