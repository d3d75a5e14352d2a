import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ShippingBody } from "../../../src/web/dashboard/pages/shipping/body.ts";
import {
  PreviewPanel,
  type PreviewView,
  ranges,
  sentence,
} from "../../../src/web/dashboard/pages/shipping/preview-panel.tsx";
import { call } from "../api/harness.ts";
import { textOf } from "./support.ts";

async function shown(preview: PreviewView, body: ShippingBody = {}): Promise<string> {
  return String(await PreviewPanel({ preview, body })?.toString());
}

async function asked(body: ShippingBody, outcomes: readonly string[]): Promise<PreviewView> {
  const events = outcomes.map((Outcome, i) => ({ EventTimestampMs: 1_795_176_000_000 + i, Outcome }));
  const answer = await call<PreviewView>("POST", "/logship/preview", { ...body, events });
  expect(answer.status).toBe(200);
  return answer.body.result;
}

const FAILED = { filter: '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}' };
const SHORT = { output_options: { field_names: ["Outcome"] } };

describe("a preview", () => {
  it("counts, says why, and shows the records as they would be written", async () => {
    const body = { ...FAILED, ...SHORT };
    const html = await shown(await asked(body, ["ok", "exception", "ok", "ok", "<img>"]), body);
    const text = textOf(html);
    expect(text).toContain("2 of 5 events would be shipped; 3 would be filtered.");
    expect(text).toMatch(/does not match the filter 3 1, 3–4/);
    for (const line of ['{ "Outcome": "exception" }', '{ "Outcome": "<img>" }']) expect(text).toContain(line);
    expect(html).toContain('aria-label="kept: 2, filtered: 3"');
    expect(html).not.toContain("<img>");
    expect(text).toMatch(/20261120 application\/x-ndjson 2 /);
  });
  it("shows twenty records, and counts the others", async () => {
    const html = await shown(await asked(SHORT, Array<string>(50).fill("ok")));
    expect(html.match(/<details class="record"/g)).toHaveLength(20);
    expect(textOf(html)).toContain("… and 30 more records.");
    expect(textOf(html)).toContain("All of 50 events would be shipped.");
    expect(textOf(html)).not.toContain("Why");
  });
  it("tells the sample from the filter, and that it is an example", async () => {
    const body = { ...FAILED, output_options: { sample_rate: 1e-9 } };
    const text = textOf(await shown(await asked(body, ["ok", "exception", "exception"]), body));
    expect(text).toContain("0 of 3 events would be shipped; 1 would be filtered, and 2 sampled out.");
    expect(text).toContain("The sample is an example");
    expect(text).toMatch(/matches, but not in the sample 2 2–3/);
    expect(text).not.toContain("Output");
  });
  it("says so where there is nothing to try it on", async () => {
    const text = textOf(await shown({ ...(await asked({}, [])), source: "recent" }));
    expect(text).toContain("Preview on recent events");
    expect(text).toContain("No recent events");
  });
  it("cuts a record that is huge, and counts what is cut off", async () => {
    const text = textOf(await shown(await asked(SHORT, ["x".repeat(10_000)])));
    expect(text).toMatch(/… and 6,000 more characters/);
  });
});

describe("the words of a preview", () => {
  it("name every number, however it is spelled", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 60 })), (some) => {
        const numbers = some.sort((a, b) => a - b);
        const read = ranges(numbers)
          .split(", ")
          .filter((span) => span !== "")
          .flatMap((span) => {
            const [from = 0, to = from] = span.split("–").map(Number);
            return Array.from({ length: to - from + 1 }, (_, i) => from + i);
          });
        expect(read).toEqual(numbers);
      }),
    );
  });
  it("fit one event", async () => {
    expect(sentence(await asked({}, ["ok"]))).toBe("All of 1 event would be shipped.");
  });
});
