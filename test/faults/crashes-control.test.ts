/** The control plane and the outbox die, refuse, lose their answer or hang. */
import { describe } from "vitest";
import { ControlPlane, Outbox } from "../../src/index.ts";
import { changed, kept, rows, shipped, steps, unconfirmed } from "./crashes.ts";

describe("the control plane", () => {
  rows("control plane", [
    ...steps(ControlPlane, ["configSince"], shipped("the caller")),
    ...steps(ControlPlane, ["create", "update", "setFunction", "remove"], changed),
    ...steps(ControlPlane, ["alarm"], unconfirmed),
  ]);
});

describe("the outbox", () => {
  rows("outbox", [...steps(Outbox, ["keep"], kept("the caller")), ...steps(Outbox, ["alarm"], kept("the platform"))]);
});
