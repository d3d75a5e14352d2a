import { createServer } from "node:net";
import { UsageFault } from "../command.ts";
import { DEFAULT_PORT } from "../paths.ts";

/** A port may be taken on one of these and free on others. */
const HOSTS = ["127.0.0.1", "::1", "0.0.0.0"];

const TRIES_MAX = 100;

/** Whether a server could listen on the port now. Another process may still take it first. */
export async function isFree(port: number): Promise<boolean> {
  for (const host of HOSTS) {
    const taken = await new Promise<boolean>((resolve) => {
      const server = createServer();
      // Only a taken port counts: a host without IPv6 has no ::1 to listen on.
      server.once("error", (error) => resolve("code" in error && error.code === "EADDRINUSE"));
      server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(false)));
    });
    if (taken) return false;
  }
  return true;
}

/**
 * The first free port from `preferred` on.
 * @throws Error if none of 100 ports is free.
 */
export async function pickPort(preferred: number): Promise<number> {
  const last = Math.min(preferred + TRIES_MAX - 1, 65_535);
  for (let port = preferred; port <= last; port++) if (await isFree(port)) return port;
  throw new Error(`no free port from ${preferred} to ${last}`);
}

/** Ports of servers of this process that are starting: two must not pick the same one. */
const startingOn = new Set<number>();

export interface ClaimedPort {
  readonly port: number;
  /** Call it once the server listens, or has failed. */
  readonly release: () => void;
}

/** The first free port from `from` on that no other starting server of this process has claimed. */
export async function claimPort(from: number): Promise<ClaimedPort> {
  let port = await pickPort(from);
  while (startingOn.has(port)) port = await pickPort(port + 1);
  startingOn.add(port);
  return { port, release: () => void startingOn.delete(port) };
}

/** The option `--port` of a command. */
export const PORT_OPTION = { port: { type: "string", default: `${DEFAULT_PORT}` } } as const;

/** @param port as the user typed it. @throws UsageFault */
export function portOf({ port }: { readonly port: string }): number {
  if (/^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) <= 65_535) return Number(port);
  throw new UsageFault("--port: 1 to 65535");
}

/** Where the second of two servers starts looking for a port. */
export function portAfter(port: number): number {
  return port < 65_535 ? port + 1 : DEFAULT_PORT + 1;
}
