/** Ports of one process: test files run side by side, each in a process of its own. */
const PORTS = 100;

/** Below the ports that a system gives to clients, and far from where a developer's own `wrangler dev` listens. */
const FIRST = 12_000;
const RANGES = 190;

const OFFSETS = { shipper: 0, sample: 50, producer: 60, host: 70 } as const;

/** Where this process looks for a free port first, so that two that start at once do not pick the same one. */
export function firstPort(of: keyof typeof OFFSETS): number {
  return FIRST + (process.pid % RANGES) * PORTS + OFFSETS[of];
}
