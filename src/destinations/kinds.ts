import { binding } from "./binding/kind.ts";
import type { Destination, DestinationKind, NetworkPlatform, OpenDestination } from "./destination.ts";
import { gs } from "./gs/kind.ts";
import { s3 } from "./s3/kind.ts";

/** Every kind of destination. A new kind is a file and a line here. */
export const KINDS: readonly DestinationKind[] = [s3, gs, binding];

/** @param path where the probes of its writes go; its own if it is not said. */
export function openDestination(
  destination: Destination,
  platform: NetworkPlatform,
  path: string = destination.path,
): OpenDestination {
  const kind = KINDS.find(({ schemes }) => schemes.includes(destination.scheme));
  if (kind === undefined) throw new Error("a destination of no kind");
  return kind.open(destination, path, platform);
}
