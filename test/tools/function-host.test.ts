import { readFileSync } from "node:fs";
import { describe, it } from "vitest";
import { NEWEST_COMPATIBILITY_DATE } from "../../src/local/code.ts";
import { FUNCTION_HOST_CONFIG, SHIPPER_CONFIG } from "../../tools/paths.ts";

/** @returns the text of a configuration without its comments. */
function configuration(path: string): string {
  return readFileSync(path, "utf8").replace(/^\s*\/\/.*$/gm, "");
}

describe("the configuration of the function host", () => {
  it.for([
    ["the shipper", SHIPPER_CONFIG],
    ["the function host", FUNCTION_HOST_CONFIG],
  ] as const)("has the compatibility date that functions get, as %s has", ([_who, path], { expect }) => {
    const date = /"compatibility_date": "([^"]*)"/.exec(configuration(path))?.[1];
    expect(date).toBe(NEWEST_COMPATIBILITY_DATE);
  });

  it("alone has the worker loader: a deployment of the shipper needs none", ({ expect }) => {
    expect(configuration(SHIPPER_CONFIG)).not.toMatch(/worker_loaders|LOCAL_FUNCTIONS/);
    expect(configuration(FUNCTION_HOST_CONFIG)).toContain("worker_loaders");
  });
});
