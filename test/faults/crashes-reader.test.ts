/** A job's reader dies, refuses, loses its answer or hangs at any of its steps. */
import { JobReader } from "../../src/index.ts";
import { Attempts } from "../../src/ship/reader/attempts.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { changed, rows, shipped, steps, swept } from "./crashes.ts";

rows("reader", [
  ...steps(JobReader, ["pull", "alarm"], shipped("the platform")),
  ...steps(JobReader, ["pull"], shipped("the platform", { path: "{SCRIPT}/dt={DATE_ISO}/hour={HOUR}" })),
  ...steps(JobReader, ["pull"], changed),
  ...steps(Attempts, ["uploadOne", "put"], shipped("the platform")),
  ...steps(Attempts, ["settle"], shipped("the platform"), PROMPT_BREAKAGES),
  ...steps(JobReader, ["drive"], swept),
]);
