/** Whether the platform still sends a function's events here: what its answers say of that, and what follows. */
import * as z from "zod";
import type { Upstream } from "../config.ts";
import { CLOCK_SKEW_MS } from "../job/config.ts";
import { UPSTREAM_SETTINGS_MAX_BYTES } from "../limits.ts";
import { log } from "../log.ts";
import { type Platform, settled } from "../platform.ts";
import { type Consumer, isNamedLike, isSelf } from "./tail-consumers.ts";
import { askPlatform, isDone, type PlatformAnswer, scriptUrl } from "./upstream.ts";

/**
 * `attached`: events come here, as somebody asked for through this service. `undone`: they did, and the platform lists this service no more. `gone`: there
 * is no such script any more. `unknown`: it was attached, and since then the platform could not be asked, or its answer did not tell.
 */
export const ATTACHMENT_STATES = ["attached", "undone", "gone", "unknown"] as const;
export type AttachmentState = (typeof ATTACHMENT_STATES)[number];

/** What is known of the attachment of one function. Times are in ms since the epoch. */
export interface Attachment {
  state: AttachmentState;
  /** When it was first found to be so. */
  sinceMs: number;
  /** When the platform last had it attached. */
  attachedMs: number;
  /** When the platform last told how it is. */
  checkedMs: number;
  /** Why the newest question after that was left without an answer, in words; null: none was. */
  fault: string | null;
}

/** For whoever looks at everything: functions that should be attached, each with how that is. */
export interface AttachmentFact {
  script: string;
  state: AttachmentState;
  sinceMs: number;
  checkedMs: number;
  /** In words, without the name: neither a text of the platform's nor a secret. */
  why: string;
}

/** What an answer says of an attachment. */
export type Sighting =
  | { readonly kind: "attached" | "detached" | "gone" }
  /** @property why in words of ours. */
  | { readonly kind: "unclear"; readonly why: string };

/** What was seen of one function, and when the question was put. */
export interface Seen {
  name: string;
  sighting: Sighting;
  askedMs: number;
}

/** `tail_consumers`, as the platform has them and takes them. */
export const Consumers = z
  .array(z.looseObject({ service: z.string() }))
  .nullable()
  .optional();

export const SettingsAnswer = z.looseObject({ result: z.looseObject({ tail_consumers: Consumers }) });

/** How soon the same may be seen again without being written down again, in ms: whoever reads settings in a loop costs no rows. */
const SEEN_AGAIN_MS = 60_000;

/**
 * What follows from a sighting. One that was asked for before the newest thing that is known says nothing: it may be of the time before that. One that tells
 * nothing makes nobody believe that an attachment was undone, nor that it no longer is.
 * @param before null: nothing is known, nor asked for. Only what is attached begins to be.
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

/** The platform has it attached at this time. */
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
  const since = fault === null ? "" : `; it could not be looked at again after ${checked}: ${fault}`;
  switch (state) {
    case "attached":
      return "the platform lists this service among its tail consumers";
    case "undone":
      return `the platform does not list this service among its tail consumers any more, as it did at ${attached}${since}`;
    case "gone":
      return `the platform has no such script any more; it was attached at ${attached}${since}`;
    case "unknown":
      return `it was attached at ${attached}, and it could not be looked at again after ${checked}: ${fault}`;
  }
}

/** What consumers of a script, as the platform lists them, say. None at all is said in three ways. */
export function sightingIn(consumers: readonly Consumer[] | null | undefined, selfName: string): Sighting {
  const all = consumers ?? [];
  if (all.some((consumer) => isSelf(consumer, selfName))) return { kind: "attached" };
  return all.some((consumer) => isNamedLike(consumer, selfName))
    ? unclear("it lists a service of this name with an environment or a namespace, which may be another one")
    : { kind: "detached" };
}

/** What an answer to a question for the settings of a script says. */
export function sightingOf(answer: PlatformAnswer, selfName: string): Sighting {
  if (answer.kind === "none") return unclear(`the platform's API ${answer.why}`);
  const { status, json } = answer;
  if (isDone(answer)) {
    const { data } = SettingsAnswer.safeParse(json);
    return data === undefined
      ? unclear("the platform's API answered with settings that are none")
      : sightingIn(data.result.tail_consumers, selfName);
  }
  if (isRefusal(status))
    return unclear(
      `the platform's API refuses UPSTREAM_TOKEN (HTTP ${status}), which needs the permission to read scripts`,
    );
  if (status === 404 && saysNoSuchScript(json)) return { kind: "gone" };
  return unclear(`the platform's API answered with HTTP ${status}, which does not tell`);
}

/**
 * The platform's errors for a path that it does not have, or an account: with a wrong UPSTREAM_API, no script would be gone. That of a script which is not
 * there is 10007. https://developers.cloudflare.com/api/ and the vendor's own client, which tells them apart the same way.
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
 * How many functions one run looks at. Twelve runs an hour look at 1,008, which is more than are remembered: each is looked at hourly. The vendor takes
 * 1,200 requests in five minutes. https://developers.cloudflare.com/fundamentals/api/reference/limits/
 */
export const CHECKED_A_RUN_MAX = 84;

/** Of the six connections that an invocation may have open. https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections */
const CHECKED_AT_ONCE = 4;

/** How long the platform may take for one answer, and until when questions are put, in ms: all of it ends within what a chore may take, 30 s. */
const ONE_MS = 5_000;
const ALL_MS = 18_000;

/** After so many refusals, or failures, and nothing told, the rest is not asked for: it would fare the same. */
const IN_VAIN_MAX = 3;

/** Whether anybody looks. Where nobody does, an attachment is what was last seen of it in passing, and that no news of it come means nothing. */
export function isCheckable(upstream: Upstream | null): upstream is Upstream & { token: string } {
  return upstream !== null && upstream.token !== null;
}

export interface AttachmentCheck {
  upstream: Upstream | null;
  accountId: string;
  /** Names of functions to look at, those first that were looked at the longest ago. */
  due(atMost: number): Promise<string[]>;
  note(seen: Seen[]): Promise<void>;
  platform: Platform;
}

/**
 * Looks at the settings of some functions with UPSTREAM_TOKEN, and has noted what it saw; without that token it does nothing. A run that dies before it has
 * noted leaves all as it was, and the next one asks the same again.
 * @throws whatever `due` and `note` throw.
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
  // The token is that of all of them.
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

/** null: no address can carry that name. */
function urlOf(upstream: Upstream, accountId: string, name: string): string | null {
  try {
    return scriptUrl(upstream, accountId, [name, "script-settings"]);
  } catch {
    return null;
  }
}
