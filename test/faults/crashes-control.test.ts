/** The control plane and the outbox die, refuse, lose their answer or hang. */
import { describe } from "vitest";
import { ControlPlane, Outbox } from "../../src/index.ts";
import { changed, kept, rows, shipped, unconfirmed } from "./crashes.ts";

describe("the control plane", () => {
  rows(ControlPlane, "control plane", ["configSince"], shipped("the caller"));
  rows(ControlPlane, "control plane", ["create", "update", "setFunction", "remove"], changed);
  rows(ControlPlane, "control plane", ["alarm"], unconfirmed);
});

describe("the outbox", () => {
  rows(Outbox, "outbox", ["keep"], kept("the caller"));
  rows(Outbox, "outbox", ["alarm"], kept("the platform"));
});
