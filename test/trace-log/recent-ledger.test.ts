import { expect, it } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import { recordLine } from "../../src/record/encode.ts";
import { snapshot } from "../pipeline/scripted.ts";
import { traceRecord } from "../record/samples.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { control, headsOf, message, open, shard } from "./shard.ts";

it("a shard that holds what is no record takes new opt-outs all the same, and lets go of it", async () => {
  setClock(NOON);
  const plane = control([]);
  const line = (ScriptName: string) => recordLine(traceRecord({ ScriptName }));
  const lines = [line("shop"), "{}", line("till").replace('"till"', "till"), line("till")];
  const recent = { ndjson: encodeUtf8(lines.map((each) => `${each}\n`).join("")), tooLarge: 0 };
  const held = async () =>
    new TextDecoder()
      .decode((await shard().recent()).ndjson)
      .split("\n")
      .slice(0, -1);
  const heads = headsOf(message(1)).map((head) => ({ ...head, recent }));
  // Only of what is new.
  for (let times = 0; times < 2; times++) await shard().append(open([message(1)], { parts: heads }));
  expect(await held()).toEqual(lines);
  const off = (scriptName: string) => [{ scriptName, windows: [{ fromMs: NOON, untilMs: null }] }];
  plane.now = snapshot("epoch.2.mark", [], off("till"));
  expect(await shard().configure(plane.now)).toBe("epoch.2.mark");
  expect(await held()).toEqual([line("shop")]);
  // An older snapshot changes nothing.
  expect(await shard().configure(snapshot("epoch.1.mark", [], off("shop")))).toBe("epoch.2.mark");
  expect(await held()).toEqual([line("shop")]);
});
