import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";
import { buildWorker, startDevServer } from "../../tools/servers/dev-server.ts";
import type { LocalServer } from "../../tools/servers/local-server.ts";
import { until } from "../../tools/until.ts";
import type { IsolatedShipper } from "./shipper.ts";

/** How long workers of different processes may take to find each other, in ms. */
const FOUND_WITHIN_MS = 15_000;

/**
 * The function of test/e2e/producer as a process, with the shipper as its tail consumer and behind
 * its binding. It does not notice a restart of the shipper: start it afterwards.
 * @param port the lowest one to try.
 */
export async function startProducer({ folder }: IsolatedShipper, port: number): Promise<LocalServer> {
  const built = await buildWorker(join(ROOT, "test/e2e/producer/wrangler.jsonc"), join(folder, "producer"));
  const producer = await startDevServer({
    ...built,
    port,
    persistTo: join(folder, "producer-state"),
    registry: join(folder, "registry"),
    logFile: join(folder, "producer.log"),
  });
  try {
    await until({
      what: "the producer to find the shipper",
      withinMs: FOUND_WITHIN_MS,
      look: async () => producer.output,
      enough: (output) => (output.match(/logship\S* \[connected\]/g) ?? []).length >= 2,
    });
    return producer;
  } catch (error) {
    await producer.stop();
    throw error;
  }
}
