import { BRAKE_MS, BRAKES_MAX, GUESSES_MAX, SENDERS_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { type Platform, within } from "../../base/platform.ts";
import { dropOldest } from "./proofs.ts";

/** How long the platform's rate limit may take, in ms: it counts beside the isolate. */
const LIMIT_MS = 1_000;

/**
 * Where a request comes from, as Cloudflare says: an IPv4 address, or the first half of an IPv6
 * one, as each customer has at least such a network. null: unknown, or this machine, which only
 * local development says. Without `cf` it came from a Worker, by a service binding, whose headers
 * are its own: a brake by an address of its choice would keep out the user who has that.
 */
export function addressOf({ headers, cf }: Pick<Request, "headers" | "cf">): string | null {
  const sent = cf === undefined ? "" : (headers.get("cf-connecting-ip") ?? "");
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(sent)) return sent.startsWith("127.") ? null : sent;
  if (!/^[0-9a-f:.]{2,45}$/i.test(sent) || !URL.canParse(`http://[${sent}]`)) return null;
  const canonical = new URL(`http://[${sent}]`).hostname.slice(1, -1);
  if (canonical === "::1") return null;
  const [before = "", after] = canonical.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [first, last] = [groups(before), groups(after ?? "")];
  const all = after === undefined ? first : [...first, ...Array(8 - first.length - last.length).fill("0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}

/**
 * Brakes guessing at secrets. Wrong credentials are counted by address, in the platform's rate
 * limit; from too many of them on, this isolate judges nothing from there that could be a guess.
 * The same ones again are no further guess: a program with an outdated token brakes no other.
 */
export class Guesses {
  readonly #seen = new Set<string>();
  /** Bearers that the platform has known, by `proofKey`: they are no guesses. */
  readonly #known = new Set<string>();
  /** When a brake began, in ms since the epoch, by address. */
  readonly #braked = new Map<string, number>();

  isBraked(address: string, nowMs: number): boolean {
    const sinceMs = this.#braked.get(address);
    return sinceMs !== undefined && Math.abs(nowMs - sinceMs) < BRAKE_MS;
  }

  /** Whether the platform has known this bearer. @param proof from `proofKey`. */
  isKnown(proof: string): boolean {
    return this.#known.has(proof);
  }

  /** The platform knows this bearer. @param proof from `proofKey`. */
  learn(proof: string): void {
    this.#known.delete(proof);
    this.#known.add(proof);
    dropOldest(this.#known, SENDERS_MAX);
  }

  /**
   * Counts wrong credentials.
   * @param proof from `proofKey`.
   * @param limit null: there is no rate limit, and no brake.
   * @returns whether there are too many.
   */
  async count(
    address: string,
    proof: string,
    limit: Pick<RateLimit, "limit"> | null,
    { now }: Pick<Platform, "now">,
  ): Promise<boolean> {
    if (this.isBraked(address, now())) return true;
    const guess = `${address} ${proof}`;
    if (limit === null || this.#seen.has(guess)) return false;
    this.#seen.add(guess);
    dropOldest(this.#seen, GUESSES_MAX);
    if (await isWithin(limit, address)) return false;
    this.#braked.delete(address);
    this.#braked.set(address, now());
    dropOldest(this.#braked, BRAKES_MAX);
    return true;
  }
}

/** A rate limit that fails limits nothing. */
async function isWithin(limit: Pick<RateLimit, "limit">, key: string): Promise<boolean> {
  try {
    const outcome = await within(LIMIT_MS, limit.limit({ key }), null);
    if (outcome !== null) return outcome.success;
    log.warn("the rate limit did not answer", { error: `no answer within ${LIMIT_MS} ms` });
  } catch (error) {
    log.warn("the rate limit did not answer", { error: errorText(error) });
  }
  return true;
}
