/**
 * Two releases at once: for minutes after a deployment, objects that are at work keep the code
 * before, and handlers of the new code call them; after a rollback, the reverse. Here each half, in
 * one process, is of this code or of the release in test/fixtures/release, and this code adds a
 * field to each call and a block to each message, as a later one may. Settings of every kind change
 * meanwhile. `TWO_RELEASES_MINUTES=5` before the command keeps up each direction for five minutes,
 * and `--silent=false` behind it shows how much came.
 */
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import type { BuiltWorker } from "../../tools/servers/dev-server.ts";
import { Chance } from "./chance.ts";
import { IsolatedShipper } from "./shipper.ts";
import { Traffic } from "./two-releases/traffic.ts";

const RELEASE = join(ROOT, "test/fixtures/release/built");

const CLASSES = [
  ...["ControlPlane", "TraceLog", "JobReader", "AccessRegister", "Watch"],
  ...["Replays", "Live", "Packer", "SketchStore"],
] as const;

type Class = (typeof CLASSES)[number];

/** Which code each half runs: `later` is this code with a field added to each call. */
interface Mix {
  handlers: "later" | "release";
  /** The handler of the queue; absent: as the others. */
  queue?: "later" | "release";
  objects: (name: Class) => "later" | "release";
}

const MIXES: Readonly<Record<string, Mix>> = {
  "later handlers, objects of the release": { handlers: "later", objects: () => "release" },
  "handlers of the release, later objects": { handlers: "release", objects: () => "later" },
  "handlers of the release for the queue, later ones for all else": {
    handlers: "later",
    queue: "release",
    objects: () => "later",
  },
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
function mixed(
  folder: string,
  built: BuiltWorker,
  n: number,
  { handlers, queue = handlers, objects }: Mix,
): BuiltWorker {
  const own = join(folder, `mix${n}`);
  mkdirSync(own);
  cpSync(RELEASE, join(own, "release"), { recursive: true });
  cpSync(dirname(built.script), join(own, "head"), { recursive: true });
  for (const name of ["grown.js", "later.js"])
    copyFileSync(join(import.meta.dirname, "two-releases", name), join(own, name));
  const from = { later: "./later.js", release: "./release/index.js" };
  const lines = CLASSES.map((name) => `export { ${name} } from "${from[objects(name)]}";`);
  lines.push(
    `import rest, { Shipper } from "${from[handlers]}";`,
    `import consumer from "${from[queue]}";`,
    "export { Shipper };",
    "export default { ...rest, queue: (batch, env) => consumer.queue(batch, env) };",
  );
  writeFileSync(join(own, "index.js"), lines.map((line) => `${line}\n`).join(""));
  const config = join(own, "wrangler.jsonc");
  const rules = `"rules": [${TEXT_FIRST.map((rule) => JSON.stringify(rule)).join(", ")}],\n`;
  writeFileSync(config, readFileSync(built.config, "utf8").replace(/"rules": \[.*\],\n/, rules));
  return { config, script: join(own, "index.js") };
}

/** By hand, each of the first two mixes goes on for so long; otherwise each has one round. */
const MINUTES = Number(process.env.TWO_RELEASES_MINUTES ?? 0);
const LONG = 2;

describe("two releases at once", () => {
  it("ship every record once, whichever is the caller, and whatever is set meanwhile", {
    timeout: 300_000 + LONG * MINUTES * 90_000,
  }, async () => {
    await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
    const chance = Chance.ofRun();
    await using traffic = await Traffic.start(shipper, chance);
    const head = shipper.built;
    const mixes = Object.entries(MIXES);
    for (const [n, [what, mix]] of mixes.entries()) {
      await shipper.crashAndRestart({ built: mixed(shipper.folder, head, n, mix) });
      const endMs = n < LONG ? Date.now() + MINUTES * 60_000 : 0;
      try {
        do await traffic.round((place) => MINUTES > 0 || place % mixes.length === n);
        while (Date.now() < endMs);
      } catch (error) {
        throw new Error(`${what} (E2E_SEED=${chance.seed} makes the same choices): ${error}`, { cause: error });
      }
      if (MINUTES > 0) console.log(`${what}: ${JSON.stringify(traffic.take())}`);
    }
    const { jobs, records } = await traffic.finish();
    if (MINUTES > 0) console.log(`${jobs} jobs, ${records} records shipped: none lost, doubled or misfiled`);
  });
});
