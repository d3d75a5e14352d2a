import { azure } from "./azure/kind.ts";
import type { Destination, DestinationKind, NetworkPlatform, OpenDestination } from "./destination.ts";
import { s3 } from "./s3/kind.ts";

/** Every kind of destination. A new kind is a file and a line here. */
export const KINDS: readonly DestinationKind[] = [s3, azure];

function kindOf({ scheme }: Destination): DestinationKind {
  const kind = KINDS.find(({ schemes }) => schemes.includes(scheme));
  if (kind === undefined) throw new Error("a destination of no kind");
  return kind;
}

/** In words; null: there is nothing to say. */
export function remarkOn(destination: Destination): string | null {
  return kindOf(destination).remark?.(destination) ?? null;
}

/** @param path where the probes of its writes go; its own if it is not said. */
export function openDestination(
  destination: Destination,
  platform: NetworkPlatform,
  path: string = destination.path,
): OpenDestination {
  return kindOf(destination).open(destination, path, platform);
}
