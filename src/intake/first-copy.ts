import { Patience, type Platform, TimeoutError } from "../platform.ts";
import { PACKING, requestHash } from "./ids.ts";

/** A request as a copy of it comes. */
export interface Copy {
  /** Its time of intake, in ms since the epoch. */
  takenInMs: number;
  /** How this code packs it. */
  packing: number;
  /** Settings that its records depend on. */
  settings: string;
}

/** What the first copy has fixed for all. */
export interface FirstCopy extends Copy {
  /** Its ids are remembered by themselves. */
  keyed: boolean;
}

/** The register, as intake uses it. */
export interface Keys {
  /**
   * What the first copy of a request has fixed; this one, if it is the first. Idempotent. What
   * comes back is unchecked.
   */
  first(hash: string, copy: Copy): Promise<unknown>;
}

/**
 * Deadline of all questions to the register for one request, in ms. It usually answers within a
 * fraction of a second.
 */
export const REGISTER_MS = 5_000;

/** Delays before the second and third try, in ms. A question that timed out is not repeated. */
const RETRY_MS = [100, 400];

/** It is unknown what the first copy of a request has fixed. Nothing of this one was sent. */
export class RegisterError extends Error {}

/**
 * What the first copy of a request with a key has fixed, this one if it is the first. It is stored
 * before this resolves, so before anything is sent.
 * @param body decompressed. @param settings that its records depend on.
 * @throws RegisterError if the register does not say, or what it says only newer code can follow.
 */
export async function firstCopy(
  { key, body, settings, nowMs }: { key: string; body: Uint8Array; settings: string; nowMs: number },
  { keys, platform }: { keys: Keys; platform: Pick<Platform, "sleep"> },
): Promise<FirstCopy> {
  const hash = requestHash(key, body);
  const copy = { takenInMs: nowMs, packing: PACKING, settings };
  const patience = new Patience(REGISTER_MS);
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        const first = read(await patience.answer("the register of keys", REGISTER_MS, () => keys.first(hash, copy)));
        if (first.packing === PACKING) return first;
        throw new RegisterError("a newer version of this service took the first copy of the request");
      } catch (error) {
        if (error instanceof RegisterError) throw error;
        const delay = RETRY_MS[attempt];
        if (delay === undefined || error instanceof TimeoutError)
          throw new RegisterError("the register of keys does not answer", { cause: error });
        await platform.sleep(delay);
      }
    }
  } finally {
    patience.end();
  }
}

/** @throws RegisterError unless it is the answer of a register. */
function read(answer: unknown): FirstCopy {
  const { takenInMs, packing, settings, keyed } = (answer ?? {}) as Partial<FirstCopy>;
  const isTime = Number.isSafeInteger(takenInMs) && (takenInMs as number) >= 0;
  if (!isTime || !Number.isSafeInteger(packing) || typeof settings !== "string" || typeof keyed !== "boolean")
    throw new RegisterError("the register's answer is not what a first copy has fixed");
  return { takenInMs: takenInMs as number, packing: packing as number, settings, keyed };
}
