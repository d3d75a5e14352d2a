/** What the example says of the shipper's RPC entrypoint, held against the entrypoint. The compiler is the test: nothing here is run. */
import type { ShipperRpc } from "../../examples/ssr-app/src/server/shipper-rpc.ts";
import type { Shipper } from "../../src/intake/shipper.ts";

/** A binding with `"entrypoint": "Shipper"` is what the example takes it for. */
export const taken = (bound: Service<Shipper>): ShipperRpc => bound;
