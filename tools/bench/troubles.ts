import { seeded, type TraceItem } from "./records.ts";

const WORKERS = 50;

/** Different errors, of half of the Workers: these fail all the time, and clearly so. */
const CAUSES = 300;
const FAILING = WORKERS / 2;

/** Versions of each Worker that run, as while one is rolled out. */
const VERSIONS = 2;

const STEPS = "reserve charge render parse publish index resize sign fetch store".split(" ");

/**
 * The same items as of {@link WORKERS} Workers in {@link VERSIONS} versions each; those with an
 * exception fail of one of {@link CAUSES} causes, with ids and numbers in their messages.
 */
export function troubled(items: readonly TraceItem[]): TraceItem[] {
  const random = seeded(9);
  const below = (n: number): number => Math.floor(random() * n);
  let failed = 0;
  // What chance sends is no schedule: it would be missed.
  return items
    .filter(({ event }) => !("cron" in (event as object)))
    .map((item): TraceItem => {
      const { exceptions, ...rest } = item as { exceptions: readonly { message: string }[] };
      // Each cause is there, whatever chance says.
      const cause = failed % CAUSES;
      const worker = exceptions.length === 0 ? below(WORKERS) : cause % FAILING;
      const step = STEPS[Math.floor(cause / FAILING) % STEPS.length] as string;
      const of = {
        scriptName: `worker-${worker}`,
        scriptVersion: { id: versionOf(worker, below(10) === 0 ? 1 : 0), tag: `v${worker}` },
      };
      if (exceptions.length === 0) return { ...rest, exceptions, ...of };
      failed += 1;
      const [{ message }] = exceptions as [{ message: string }];
      const frames = message.split("\n").slice(2);
      const own = `    at ${step}Order (index.js:${100 + cause}:${10 + (cause % 40)})`;
      const text = `cannot ${step} order ${below(1e6)} of customer ${below(2 ** 32).toString(16)}`;
      return {
        ...{ ...rest, ...of },
        exceptions: exceptions.map((each) => ({
          ...{ ...each, name: "OrderError" },
          message: [`OrderError: ${text}`, own, ...frames].join("\n"),
        })),
      };
    });
}

function versionOf(worker: number, nth: number): string {
  const digits = (worker * VERSIONS + nth + 1).toString(16).padStart(12, "0");
  return `5f0c2a7e-91b4-4d3a-8e60-${digits}`;
}
