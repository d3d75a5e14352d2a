/** The delivery log dies, refuses, loses its answer or hangs at any of its steps. */
import { describe } from "vitest";
import { Attempts } from "../../src/delivery/attempts.ts";
import { JobReader } from "../../src/index.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { changed, rows, shipped, steps, swept } from "./crashes.ts";

describe("the delivery log", () => {
  rows("log", [
    ...steps(JobReader, ["append", "holds"], shipped("the caller")),
    ...steps(JobReader, ["append"], shipped("the caller", { path: "{SCRIPT}/dt={DATE_ISO}/hour={HOUR}" })),
    ...steps(JobReader, ["alarm"], shipped("the platform")),
    ...steps(Attempts, ["uploadOne", "put"], shipped("the platform")),
    ...steps(JobReader, ["holds", "drive"], swept),
    ...steps(Attempts, ["settle"], shipped("the platform"), PROMPT_BREAKAGES),
    ...steps(JobReader, ["configure"], changed),
  ]);
});
