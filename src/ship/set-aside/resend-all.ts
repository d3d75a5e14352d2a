import { type Platform, settled } from "../../base/platform.ts";
import type { HeldEntry } from "../log/on-hold.ts";
import type { AsideObject } from "../reader/statuses.ts";
import { type AsideEntry, type AsideId, type AsideStores, listAside } from "./list-aside.ts";
import type { Resent } from "./resend.ts";

/** Entries of one request, and how many of them are sent at once. */
const ENTRIES = 100;
const AT_ONCE = 4;

/** After this time no further entry is begun, in ms: one may take as long as a request. */
const BEGIN_MS = 10_000;

export interface ResentAll {
  /** Entries that are set aside no longer. */
  sent: number;
  /** Events of the messages among them. */
  events: number;
  /** Records of the others among them. */
  records: number;
  /** Entries that stay, those included that were skipped: skip as many to go on. */
  stayed: number;
  /** Entries behind these that were not tried yet. */
  left: number;
  /** Jobs whose readers did not answer: what they have was not tried. */
  unanswered: number[];
}

/**
 * Sends again what is set aside, the oldest first, up to {@link ENTRIES} entries.
 * @param skip entries at the beginning that are known to stay.
 * @param resend sends one of them, and may throw if something does not answer: then it stays.
 */
export async function resendAll(
  stores: AsideStores,
  skip: number,
  resend: (id: AsideId) => Promise<Resent>,
  platform: Pick<Platform, "now">,
): Promise<ResentAll> {
  const untilMs = platform.now() + BEGIN_MS;
  const { messages, objects, entries: unmade, total, unanswered } = await listAside(stores, skip, ENTRIES);
  const entries = [...messages.map(messageOf), ...objects.map(objectOf), ...unmade.map(entryOf)];
  const result: ResentAll = { sent: 0, events: 0, records: 0, stayed: skip, left: 0, unanswered };
  let tried = 0;
  await settled(entries, AT_ONCE, async ({ id, canBeSent }) => {
    if (platform.now() >= untilMs) return;
    tried += 1;
    result.stayed += 1;
    if (!canBeSent) return;
    const resent = await resend(id);
    const isSent = resent.kind === "message" || resent.kind === "object" || resent.kind === "entry";
    if (!isSent && resent.kind !== "gone") return;
    result.stayed -= 1;
    if (!isSent) return;
    result.sent += 1;
    if (resent.kind === "message") result.events += resent.count.events;
    else result.records += resent.kind === "object" ? resent.object.records : resent.records;
  });
  result.left = Math.max(0, total - skip - tried);
  return result;
}

interface Entry {
  id: AsideId;
  canBeSent: boolean;
}

function messageOf({ id, unreadable }: HeldEntry): Entry {
  return { id: { kind: "message", id }, canBeSent: unreadable === null };
}

function entryOf({ job, node, n }: AsideEntry): Entry {
  return { id: { kind: "entry", job, node, n }, canBeSent: true };
}

function objectOf({ job, number, isDiscarded }: AsideObject): Entry {
  return { id: { kind: "object", job, number }, canBeSent: !isDiscarded };
}
