/** Ports of one process. Test files run side by side, each in its own process. */
const PORTS = 100;

/**
 * Below the system's range of client ports, and far from the ports of a developer's own `wrangler
 * dev`.
 */
const FIRST = 12_000;
const RANGES = 190;

const OFFSETS = { shipper: 0, sample: 50, producer: 60, host: 70, azurite: 80, start: 90 } as const;

/**
 * Where this process starts to look for a free port. Processes that start at the same time get
 * different ones.
 */
export function firstPort(of: keyof typeof OFFSETS): number {
  return FIRST + (process.pid % RANGES) * PORTS + OFFSETS[of];
}
