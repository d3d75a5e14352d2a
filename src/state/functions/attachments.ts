/**
 * Whether the platform still sends a function's events here: what its answers show, and what
 * follows.
 */
import * as z from "zod";
import { UPSTREAM_SETTINGS_MAX_BYTES } from "../../base/limits.ts";
import { log } from "../../base/logger.ts";
import { type Platform, settled } from "../../base/platform.ts";
import type { Upstream } from "../../config.ts";
import { CLOCK_SKEW_MS } from "../../ship/job/config.ts";
import { type Consumer, isNamedLike, isSelf } from "./tail-consumers.ts";
import { askPlatform, isDone, type PlatformAnswer, scriptUrl } from "./upstream.ts";

/**
 * `attached`: events come here, as requested through this service. `undone`: they did, but the
 * platform no longer lists this service. `gone`: the script no longer exists. `unknown`: it was
 * attached; since then the platform could not be asked, or its answer was unclear.
 */
export const ATTACHMENT_STATES = ["attached", "undone", "gone", "unknown"] as const;
export type AttachmentState = (typeof ATTACHMENT_STATES)[number];

/** The attachment of one function. Times are in ms since the epoch. */
export interface Attachment {
  state: AttachmentState;
  /** When the state was first seen. */
  sinceMs: number;
  /** When the platform was last known to have it attached. */
  attachedMs: number;
  /** When the platform last gave a clear answer. */
  checkedMs: number;
  /** Why the newest check after that had no clear answer, in words; null: no such check. */
  fault: string | null;
}

/** The attachment of one function, for reports. */
export interface AttachmentFact {
  script: string;
  state: AttachmentState;
  sinceMs: number;
  checkedMs: number;
  /** In our words, without the name: no text of the platform's, no secret. */
  why: string;
}

/** What an answer shows of an attachment. */
export type Sighting =
  | { readonly kind: "attached" | "detached" | "gone" }
  /** @property why in our words. */
  | { readonly kind: "unclear"; readonly why: string };

/** What was seen of one function, and when the platform was asked. */
export interface Seen {
  name: string;
  sighting: Sighting;
  askedMs: number;
}

/** `tail_consumers`, as the platform sends and takes them. */
export const Consumers = z.array(z.looseObject({ service: z.string() })).nullish();

export const SettingsAnswer = z.looseObject({ result: z.looseObject({ tail_consumers: Consumers }) });

/**
 * How long the same sighting is not written again, in ms: reading settings in a loop costs no rows.
 */
const SEEN_AGAIN_MS = 60_000;

/**
 * What follows from a sighting. An answer to an older question than the newest known one is
 * ignored, as it may be outdated. An unclear one neither makes an attachment undone nor ends that
 * state.
 * @param before null: unknown, and never requested; only a sighting of `attached` changes that.
 */
export function afterSighting(before: Attachment | null, sighting: Sighting, askedMs: number): Attachment | null {
  if (before === null) return sighting.kind === "attached" ? attachedAt(null, askedMs) : null;
  if (askedMs - before.checkedMs <= CLOCK_SKEW_MS) return before;
  switch (sighting.kind) {
    case "attached": {
      const isNews = before.state !== "attached" || askedMs - before.checkedMs >= SEEN_AGAIN_MS;
      return isNews ? attachedAt(before, askedMs) : before;
    }
    case "detached":
      return { ...before, ...stateAt(before, "undone", askedMs), checkedMs: askedMs, fault: null };
    case "gone":
      return { ...before, ...stateAt(before, "gone", askedMs), checkedMs: askedMs, fault: null };
    case "unclear": {
      const state = before.state === "attached" ? "unknown" : before.state;
      return { ...before, ...stateAt(before, state, askedMs), fault: sighting.why };
    }
  }
}

/** The state after the platform was found to have it attached. */
export function attachedAt(before: Attachment | null, nowMs: number): Attachment {
  return { ...stateAt(before, "attached", nowMs), attachedMs: nowMs, checkedMs: nowMs, fault: null };
}

function stateAt(
  before: Attachment | null,
  state: AttachmentState,
  nowMs: number,
): Pick<Attachment, "state" | "sinceMs"> {
  return { state, sinceMs: before?.state === state ? before.sinceMs : nowMs };
}

export function factOf(script: string, attachment: Attachment): AttachmentFact {
  const { state, sinceMs, checkedMs } = attachment;
  return { script, state, sinceMs, checkedMs, why: whyOf(attachment) };
}

function whyOf({ state, attachedMs, checkedMs, fault }: Attachment): string {
  const [attached, checked] = [attachedMs, checkedMs].map((ms) => new Date(ms).toISOString());
  const since = fault === null ? "" : `; logship could not check again after ${checked}: ${fault}`;
  switch (state) {
    case "attached":
      return "Cloudflare lists this service among its tail consumers";
    case "undone":
      return `Cloudflare no longer lists this service among its tail consumers, as it did at ${attached}${since}`;
    case "gone":
      return `Cloudflare no longer has such a script; it was attached at ${attached}${since}`;
    case "unknown":
      return `it was attached at ${attached}, and logship could not check again after ${checked}: ${fault}`;
  }
}

/** What a script's consumers, as the platform lists them, show. An empty list has three forms. */
export function sightingIn(consumers: readonly Consumer[] | null | undefined, selfName: string): Sighting {
  const all = consumers ?? [];
  if (all.some((consumer) => isSelf(consumer, selfName))) return { kind: "attached" };
  return all.some((consumer) => isNamedLike(consumer, selfName))
    ? unclear("it lists a service of this name with an environment or a namespace, which may be another one")
    : { kind: "detached" };
}

/** What an answer to a request for the settings of a script shows. */
export function sightingOf(answer: PlatformAnswer, selfName: string): Sighting {
  if (answer.kind === "none") return unclear(`Cloudflare's API ${answer.why}`);
  const { status, json } = answer;
  if (isDone(answer)) {
    const { data } = SettingsAnswer.safeParse(json);
    return data === undefined
      ? unclear("Cloudflare's API answered with malformed settings")
      : sightingIn(data.result.tail_consumers, selfName);
  }
  if (isRefusal(status))
    return unclear(
      `Cloudflare's API refuses UPSTREAM_TOKEN (HTTP ${status}), which needs the permission to read scripts`,
    );
  if (status === 404 && saysNoSuchScript(json)) return { kind: "gone" };
  return unclear(`Cloudflare's API answered with HTTP ${status}`);
}

/**
 * The platform's errors for an unknown path or account, as with a wrong UPSTREAM_API: they do not
 * mean that a script is gone. That error is 10007. https://developers.cloudflare.com/api/ and the
 * vendor's own client, which tells them apart the same way.
 */
const NO_ROUTE_CODES: ReadonlySet<number> = new Set([7000, 7003]);

const NotFound = z.looseObject({
  success: z.literal(false),
  errors: z.array(z.looseObject({ code: z.number() })).min(1),
});

function saysNoSuchScript(json: unknown): boolean {
  const { data } = NotFound.safeParse(json);
  return data?.errors.every(({ code }) => !NO_ROUTE_CODES.has(code)) ?? false;
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

function unclear(why: string): Sighting {
  return { kind: "unclear", why };
}

/**
 * Functions checked in one run. Twelve runs an hour check 1,008, more than are remembered: each is
 * checked hourly. The vendor takes 1,200 requests in five minutes.
 * https://developers.cloudflare.com/fundamentals/api/reference/limits/
 */
export const CHECKED_A_RUN_MAX = 84;

/**
 * An invocation may have six open connections.
 * https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections
 */
const CHECKED_AT_ONCE = 4;

/**
 * Deadline of one answer, and of starting new requests, in ms: together within the 30 s of a
 * scheduled chore.
 */
const ONE_MS = 5_000;
const ALL_MS = 18_000;

/**
 * After so many refusals or failures without one clear answer, the run ends: the rest would fail,
 * too.
 */
const IN_VAIN_MAX = 3;

/**
 * Whether attachments are checked. If not, their state is what was last seen in passing, and may be
 * outdated.
 */
export function isCheckable(upstream: Upstream | null): upstream is Upstream & { token: string } {
  return upstream !== null && upstream.token !== null;
}

export interface AttachmentCheck {
  upstream: Upstream | null;
  accountId: string;
  /** Names of functions to check, least recently checked first. */
  due(atMost: number): Promise<string[]>;
  note(seen: Seen[]): Promise<void>;
  platform: Platform;
}

/**
 * Reads the settings of some functions with UPSTREAM_TOKEN and notes what it saw; without that
 * token it does nothing. A run that dies before it notes changes nothing, and the next one repeats
 * it.
 * @throws what `due` and `note` throw.
 */
export async function checkAttachments({ upstream, accountId, due, note, platform }: AttachmentCheck): Promise<void> {
  if (!isCheckable(upstream)) return;
  const { token: bearer, selfName } = upstream;
  const untilMs = platform.now() + ALL_MS;
  const names = await due(CHECKED_A_RUN_MAX);
  const seen = new Map<string, Seen>();
  const tried = { told: 0, refused: 0, failed: 0, isBusy: false, refusal: null as Seen | null };
  const isInVain = (count: number): boolean => tried.told === 0 && count >= IN_VAIN_MAX;
  await settled(names, CHECKED_AT_ONCE, async (name) => {
    if (tried.isBusy || isInVain(tried.refused) || isInVain(tried.failed) || platform.now() >= untilMs) return;
    const askedMs = platform.now();
    const url = urlOf(upstream, accountId, name);
    const answer: PlatformAnswer =
      url === null
        ? { kind: "none", why: "cannot be asked for a script of this name" }
        : await askPlatform({ method: "GET", url, bearer }, ONE_MS, platform, UPSTREAM_SETTINGS_MAX_BYTES);
    const each: Seen = { name, sighting: sightingOf(answer, selfName), askedMs };
    seen.set(name, each);
    if (each.sighting.kind !== "unclear") tried.told += 1;
    else if (answer.kind === "answer" && isRefusal(answer.status)) {
      tried.refused += 1;
      tried.refusal = each;
    } else if (url !== null) tried.failed += 1;
    if (answer.kind === "answer" && answer.status === 429) tried.isBusy = true;
  });
  // All use one token.
  if (tried.refusal !== null && isInVain(tried.refused)) {
    const { sighting, askedMs } = tried.refusal;
    for (const name of names) if (!seen.has(name)) seen.set(name, { name, sighting, askedMs });
  }
  const all = [...seen.values()];
  const unclearOnes = all.flatMap(({ sighting }) => (sighting.kind === "unclear" ? [sighting] : []));
  if (unclearOnes.length > 0)
    log.warn("attachments could not be looked at", { functions: unclearOnes.length, why: unclearOnes[0]?.why });
  if (all.length > 0) await note(all);
}

/** null: no URL can hold that name. */
function urlOf(upstream: Upstream, accountId: string, name: string): string | null {
  try {
    return scriptUrl(upstream, accountId, [name, "script-settings"]);
  } catch {
    return null;
  }
}
