/** Answers of `GET /status`. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { watch } from "../../../src/operate/alerts/watch.ts";
import { call } from "../../web/api/harness.ts";

export const MINUTE_MS = 60_000;

export interface Said {
  kind: string;
  severity: "error" | "warning";
  subject: { type: string; id?: number; name?: string };
  since: string | null;
  affected: { count: number; what: string } | null;
  summary: string;
  advice: string;
  /** null: not confirmed. */
  incident: string | null;
  sender?: string;
}

/** An incident of `GET /incidents`. */
export interface SaidIncident extends Omit<Said, "incident"> {
  id: string;
  state: "open" | "recovering" | "unknown" | "over";
  recovering_since: string | null;
  over_at: string | null;
  over_since: string | null;
}

export interface Status {
  ok: boolean;
  checked_at: string;
  errors: number;
  warnings: number;
  findings: Said[];
  /** Those that are not over. */
  incidents: SaidIncident[];
}

/** @throws if there is no answer. */
export async function status(): Promise<Status> {
  const answer = await call<Status>("GET", "/logship/status");
  expect(answer.status).toBe(200);
  return answer.body.result;
}

/** The kinds of all findings, in their order. */
export async function kindsOf(said: Promise<Status> = status()): Promise<string[]> {
  return (await said).findings.map(({ kind }) => kind);
}

/**
 * The status after an eviction of the watch, from its storage. Only if all parts answer: eviction
 * waits for running calls.
 */
export async function freshStatus(): Promise<Status> {
  // Only a running object can be evicted.
  await runInDurableObject(watch(env.WATCH), () => {});
  await evictDurableObject(watch(env.WATCH));
  return status();
}
