import { describe, expect, it } from "vitest";
import type { Permission } from "../../../src/state/access/roles.ts";
import { createJob } from "../../support/runtime/api.ts";
import { freshBucket } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { IMAGE, OBEYED, SCRIPT } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

/** The links of what was found, and their texts. */
async function found(visitor: Visitor, q: string): Promise<string[]> {
  const { status, html } = await visitor.get(`/find?${new URLSearchParams({ q })}`);
  expect(status).toBe(200);
  expect(html).not.toMatch(OBEYED);
  const list = /<ul class="found".*?<\/ul>/s.exec(html)?.[0] ?? "";
  return [...list.matchAll(/<a href="([^"]*)">(.*?)<\/a>/gs)].map(
    ([, href, text]) => `${href} ${textOf(text ?? "").trim()}`,
  );
}

describe("Find", () => {
  it("lists jobs and functions of a name before pages, and a search of records last", async () => {
    const id = await createJob(freshBucket().name, { name: "Checkout, failed" });
    await call("PATCH", "/functions/scripts/checkout/script-settings", { logship: true });
    const visitor = await Visitor.signedIn();
    expect(await found(visitor, " CHECKout ")).toEqual([
      `/jobs/${id} Checkout, failed job`,
      "/functions/checkout checkout Worker",
      "/search?q=CHECKout&amp;last=24h Search the last day for CHECKout records",
    ]);
    expect(await found(visitor, `${id}`)).toContain(`/jobs/${id} Checkout, failed job`);
    expect(await found(visitor, "hold")).toContain("/set-aside On hold page");
    expect(await found(visitor, "")).toContain("/docs API page");
  });

  it("names what a viewer may see, and nothing else", async () => {
    await createJob(freshBucket().name, { name: "a job" });
    await call("PATCH", "/functions/scripts/a-job/script-settings", { logship: true });
    const of = async (...permissions: Permission[]) =>
      found(await Visitor.signedIn({ token: (await token(permissions)).secret }), "a");
    expect(await of("functions:read")).toEqual([
      "/functions/a-job a-job Worker",
      "/attach Attach page",
      "/docs API page",
    ]);
    expect(await of("access:edit")).toEqual([
      "/attach Attach page",
      "/access Access page",
      "/docs API page",
      "/access/audit Audit page",
    ]);
  });

  it("obeys no name", async () => {
    await createJob(freshBucket().name, { name: `${SCRIPT}${IMAGE}` });
    await call("PATCH", `/functions/scripts/${encodeURIComponent("<b>.js")}/script-settings`, { logship: true });
    const visitor = await Visitor.signedIn();
    expect((await found(visitor, "script")).length).toBeGreaterThan(0);
    expect(await found(visitor, "<b>")).toContain("/functions/%3Cb%3E.js <b>.js Worker");
    expect(await found(visitor, `"><img src=x`)).toHaveLength(2);
  });
});
