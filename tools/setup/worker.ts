/** Waits for the deployed Worker: for its first answer, and for its canary. */
import { type ApiClient, ApiFailure } from "../client/api-client.ts";
import { printable } from "../client/show.ts";
import { reasonOf } from "./platform.ts";
import { SetupRefused } from "./refusals.ts";

/** Time as an argument. */
export interface Waiting {
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

/** A new workers.dev address takes up to a minute until all of Cloudflare knows it. In ms. */
const ANSWERS_WITHIN_MS = 120_000;

/** A new secret takes some seconds. In ms. */
const KNOWN_WITHIN_MS = 15_000;

/** Of a canary's four tries the last comes after some four minutes; most take one. In ms. */
const READ_WITHIN_MS = 60_000;

const LOOK_AGAIN_MS = 1_000;

/** @throws SetupRefused if it does not answer, or does not take the token. */
export async function untilItAnswers(
  api: ApiClient,
  url: string,
  file: string,
  { now, pause }: Waiting,
): Promise<void> {
  const startMs = now();
  for (;;) {
    const last = await api.jobs().then(() => null, failureOf);
    if (last === null) return;
    const waitedMs = now() - startMs;
    if (last.status === 401 && waitedMs >= KNOWN_WITHIN_MS) throw new SetupRefused({ kind: "token_wrong", file });
    if (waitedMs >= ANSWERS_WITHIN_MS) throw new SetupRefused({ kind: "silent", url, last: last.words });
    await pause(LOOK_AGAIN_MS);
  }
}

/** Has the canary of a job sent now, and waits until it is read back. @throws SetupRefused */
export async function readBack(api: ApiClient, jobId: number, { now, pause }: Waiting): Promise<void> {
  const startMs = now();
  await api.flush(jobId);
  for (;;) {
    const { state, why } = await api.canary(jobId);
    if (state === "ok") return;
    if (now() - startMs >= READ_WITHIN_MS)
      throw new SetupRefused({ kind: "canary_not_ok", state: state ?? "off", why: printable(why ?? "no answer yet") });
    await pause(LOOK_AGAIN_MS);
  }
}

function failureOf(error: unknown): { status: number; words: string } {
  if (error instanceof ApiFailure) return { status: error.status, words: printable(error.message) };
  return { status: 0, words: reasonOf(error) };
}
