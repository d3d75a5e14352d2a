/** What `GET /status` says. */
import { expect } from "vitest";
import { FRESH } from "../../src/status/watch.ts";
import { call } from "../api/harness.ts";

// What is true at this moment is what these tests ask, and at the next one again.
FRESH.ms = 0;

export const MINUTE_MS = 60_000;

export interface Said {
  kind: string;
  severity: "error" | "warning";
  subject: { type: string; id?: number; name?: string };
  since: string | null;
  affected: { count: number; what: string } | null;
  summary: string;
  advice: string;
}

export interface Status {
  ok: boolean;
  checked_at: string;
  errors: number;
  warnings: number;
  findings: Said[];
}

/** @throws unless it is answered. */
export async function status(): Promise<Status> {
  const answer = await call<Status>("GET", "/logship/status");
  expect(answer.status).toBe(200);
  return answer.body.result;
}

/** The kinds of all findings, in their order. */
export async function kindsOf(): Promise<string[]> {
  return (await status()).findings.map(({ kind }) => kind);
}
