/** The delivery log dies, refuses, loses its answer or hangs at any of its steps. */
import { describe } from "vitest";
import { Attempts } from "../../src/delivery/attempts.ts";
import { DeliveryLog } from "../../src/index.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { changed, rows, shipped, swept } from "./crashes.ts";

describe("the delivery log", () => {
  rows(DeliveryLog, "log", ["append", "holds"], shipped("the caller"));
  rows(DeliveryLog, "log", ["alarm"], shipped("the platform"));
  rows(Attempts, "log", ["uploadOne", "put"], shipped("the platform"));
  rows(Attempts, "log", ["settle"], shipped("the platform"), PROMPT_BREAKAGES);
  rows(DeliveryLog, "log", ["status", "drive"], swept);
  rows(DeliveryLog, "log", ["configure"], changed);
});
