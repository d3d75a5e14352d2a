/** The delivery log dies, refuses, loses its answer or hangs at any of its steps. */
import { describe } from "vitest";
import { Attempts } from "../../src/delivery/attempts.ts";
import { DeliveryLog } from "../../src/index.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { changed, rows, shipped, steps, swept } from "./crashes.ts";

describe("the delivery log", () => {
  rows("log", [
    ...steps(DeliveryLog, ["append", "holds"], shipped("the caller")),
    ...steps(DeliveryLog, ["appendParts"], shipped("the caller", { path: "{SCRIPT}/dt={DATE_ISO}/hour={HOUR}" })),
    ...steps(DeliveryLog, ["alarm"], shipped("the platform")),
    ...steps(Attempts, ["uploadOne", "put"], shipped("the platform")),
    ...steps(DeliveryLog, ["holds", "drive"], swept),
    ...steps(Attempts, ["settle"], shipped("the platform"), PROMPT_BREAKAGES),
    ...steps(DeliveryLog, ["configure"], changed),
  ]);
});
