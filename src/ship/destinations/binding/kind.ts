import { parsePath, STORE_TERMS } from "../conf.ts";
import type { ConfParts, Destination, DestinationKind, Parsed, Place } from "../destination.ts";
import { openStore } from "../store/open.ts";
import { BucketStore } from "./bucket-store.ts";

interface BindingDestination extends Destination {
  readonly credentials: R2Bucket;
}

/**
 * `binding://<BINDING>/<path>`: an R2 bucket that the worker is bound to and that the var
 * `DESTINATION_BINDINGS` names. There are no keys.
 */
export const binding = {
  schemes: ["binding"],
  isShown: () => false,
  terms: () => STORE_TERMS,
  place: readPlace,
  destination: (parts, context): Parsed<BindingDestination> => {
    const place = readPlace(parts);
    if (!place.ok) return place;
    const name = place.value.bucket;
    const found = context.binding(name);
    if (found === "unlisted") return { ok: false, why: `DESTINATION_BINDINGS does not name ${name}` };
    if (found === "unbound") return { ok: false, why: `this service has no binding ${name}` };
    if (found === "other") return { ok: false, why: `the binding ${name} is not an R2 bucket` };
    return { ok: true, value: { ...place.value, credentials: found } };
  },
  open: (destination, path, platform) =>
    // Made by the method above.
    openStore(new BucketStore((destination as BindingDestination).credentials), {
      path,
      platform,
      why: async () => null,
    }),
} as const satisfies DestinationKind;

/** Names as the platform has them: of a variable. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

function readPlace({ scheme, authority, path: rawPath, query }: ConfParts): Parsed<Place> {
  if (!NAME.test(authority))
    return {
      ok: false,
      why: "the binding must be 1 to 64 letters, digits or underscores, and must not begin with a digit",
    };
  const path = parsePath(rawPath);
  if (!path.ok) return path;
  if (query !== "") return { ok: false, why: "binding:// takes no parameters" };
  // Stands for the worker in the names of places.
  const endpoint = new URL("binding://worker");
  return { ok: true, value: { scheme, endpoint, accountId: null, bucket: authority, path: path.value } };
}
