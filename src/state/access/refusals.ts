import { waitUntil } from "cloudflare:workers";
import { REFUSALS_ADDRESSES, REFUSALS_MS } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { AuditEntry } from "./audit-book.ts";
import { type AccessRegister, accessRegister } from "./register.ts";

/** What was refused: a form of the dashboard, or a request of the API. */
export type Refusal = "sign_in.refuse" | "request.refuse";

/** How long noting may take, in ms. */
const NOTE_MS = 3_000;

/**
 * Refused credentials on their way to the audit: counted for seconds, so that a flood of them is a
 * few calls of the register. They say where they came from and how many, and nothing of what was
 * sent.
 */
export class Refusals {
  /** Counts, by what was refused and the address; null: that of all further addresses. */
  #counts = new Map<Refusal, Map<string | null, number>>();

  add(
    refusal: Refusal,
    address: string,
    register: DurableObjectNamespace<AccessRegister>,
    platform: Pick<Platform, "sleep">,
  ): void {
    const isFirst = this.#counts.size === 0;
    const counts = this.#counts.get(refusal) ?? new Map<string | null, number>();
    const known = counts.has(address) || counts.size < REFUSALS_ADDRESSES ? address : null;
    counts.set(known, (counts.get(known) ?? 0) + 1);
    this.#counts.set(refusal, counts);
    if (isFirst) waitUntil(this.#write(register, platform));
  }

  async #write(register: DurableObjectNamespace<AccessRegister>, { sleep }: Pick<Platform, "sleep">): Promise<void> {
    await sleep(REFUSALS_MS);
    const all = this.#counts;
    this.#counts = new Map();
    try {
      for (const [action, counts] of all)
        for (const [address, times] of counts)
          await answered(
            "the access register",
            NOTE_MS,
            accessRegister(register).note(entryOf(action, address, times)),
          );
    } catch (error) {
      log.warn("refused credentials are missing in the audit", { error: errorText(error) });
    }
  }
}

function entryOf(action: Refusal, resource: string | null, times: number): AuditEntry {
  const actor = { kind: "unknown", id: "", name: "" };
  return { actor, action, resource, outcome: "refused", body: null, requestId: null, times };
}
