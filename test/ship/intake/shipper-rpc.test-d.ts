/**
 * The example's type of the shipper's RPC entrypoint, checked against the entrypoint by the
 * compiler. Nothing is run.
 */
import type { ShipperRpc } from "../../../examples/ssr-app/src/server/shipper-rpc.ts";
import type { Shipper } from "../../../src/ship/intake/shipper.ts";

/** A binding with `"entrypoint": "Shipper"` has the type that the example assumes. */
export const taken = (bound: Service<Shipper>): ShipperRpc => bound;
