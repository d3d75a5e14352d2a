/** The control plane dies, refuses, loses its answer or hangs. */
import { ControlPlane } from "../../src/index.ts";
import { changed, resharded, rows, shipped, steps, unconfirmed } from "./crashes.ts";

rows("control plane", [
  ...steps(ControlPlane, ["configSince"], shipped("the caller")),
  ...steps(ControlPlane, ["join"], resharded),
  ...steps(ControlPlane, ["create", "update", "setFunction", "remove"], changed),
  ...steps(ControlPlane, ["alarm"], unconfirmed),
]);
