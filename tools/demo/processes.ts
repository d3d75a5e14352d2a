/** The two processes of the demo. */
import { join } from "node:path";
import { ROOT } from "../paths.ts";
import { type BuiltWorker, buildWorker, startDevServer } from "../servers/dev-server.ts";
import { type Foreground, portWords } from "../servers/foreground.ts";
import type { LocalServer } from "../servers/local-server.ts";
import { type LocalShipper, startLocalShipper } from "../servers/local-shipper.ts";
import { until } from "../until.ts";
import { SAMPLE_NAME } from "./events.ts";

/** Folder of the state of each run. */
export const STATES = join(ROOT, ".wrangler/demo");
const SAMPLE_CONFIG = join(ROOT, "tools/demo/sample/wrangler.jsonc");

export interface Running extends Pick<Foreground, "say" | "state"> {
  readonly shipper: LocalShipper;
  readonly sample: LocalServer;
}

/** @throws Error with wrangler's output if one of them does not start. */
export async function start(foreground: Foreground): Promise<Running> {
  const { say, state } = foreground;
  const building = buildWorker(SAMPLE_CONFIG, join(state, "sample"));
  try {
    const shipper = await startLocalShipper(foreground, SAMPLE_NAME);
    const sample = await startSample(await building, shipper, foreground);
    return { shipper, sample, say, state };
  } finally {
    // The first error is what counts, but the build must not go on writing.
    await building.catch(() => {});
  }
}

/**
 * Start the shipper first: events without a running consumer are lost. The function is built, as
 * `wrangler dev` swallows exceptions when it runs from source.
 */
async function startSample(
  built: BuiltWorker,
  { server: shipper, registry }: LocalShipper,
  { state, signal, say, keep }: Foreground,
): Promise<LocalServer> {
  const port = shipper.port + 1;
  say(`Starting the sample function ${SAMPLE_NAME}, with the shipper as its tail consumer …`);
  const sample = await startDevServer({
    ...built,
    port,
    persistTo: join(state, "sample-state"),
    registry,
    logFile: join(state, "sample.log"),
    signal,
  });
  keep("the sample function", sample);
  await until({
    what: "the sample function to find the shipper",
    withinMs: 15_000,
    look: async () => sample.output.includes("logship [connected]"),
    enough: Boolean,
  });
  say(`The sample function answers on ${portWords(sample, port)}.`);
  return sample;
}
