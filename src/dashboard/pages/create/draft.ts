import * as z from "zod";
import { toBase64Url } from "../../../bytes.ts";
import type { StoredDraft } from "../../../control/drafts.ts";
import { controlPlane } from "../../../control/plane.ts";
import type { Parsed, Terms } from "../../../destinations/destination.ts";
import { buildDestination, type DestinationEntry, requireForm } from "../../../destinations/entry.ts";
import { CODE, type ErrorEntry, oneError } from "../../../errors.ts";
import { draftPurpose, seal, unseal } from "../../../job/secrets.ts";
import { DRAFT_MAX_UNITS } from "../../../limits.ts";
import type { PageContext } from "../../page.ts";
import { newEntry, StoredEntry } from "../../parts/destination-entry.ts";
import type { ShippingBody } from "../shipping/body.ts";

/** The steps of the wizard, in order. */
export const STEPS = [
  { name: "destination", label: "Destination" },
  { name: "records", label: "Records" },
  { name: "output", label: "Output" },
  { name: "preview", label: "Preview" },
  { name: "ownership", label: "Ownership" },
  { name: "finish", label: "Finish" },
] as const;

/** The steps of a draft. What cannot be read back cannot prove who owns it. */
export function stepsOf(draft: Pick<Draft, "destination">): readonly (typeof STEPS)[number][] {
  return STEPS.filter(({ name }) => name !== "ownership" || termsOfDraft(draft).isReadable);
}

/** What holds of a draft's destination. */
export function termsOfDraft({ destination }: Pick<Draft, "destination">): Terms {
  return requireForm(destination).terms;
}

export type StepName = (typeof STEPS)[number]["name"];

/** The last test write to the destination. */
export interface Tested {
  ok: boolean;
  /** As the API says it. */
  message: string;
  /** What a destination that works does not allow or promise; absent in a draft of before. */
  remarks?: readonly string[];
  atMs: number;
}

/**
 * A job that is not created yet. It is encrypted before it is stored, and no page shows its keys.
 */
export interface Draft {
  destination: DestinationEntry;
  /** The keys come from a stored job. They may be used for its bucket only. */
  keysOfJob: boolean;
  tested: Tested | null;
  /** Another job ships to the same folder. */
  shared: boolean;
  body: ShippingBody;
  /** Key of the last ownership challenge in the bucket; null: none was written. */
  challenge: string | null;
  /** The verified ownership token; null: none yet. */
  proof: string | null;
  /** Completed steps. */
  done: StepName[];
  /** Why creating the job was refused, with JSON pointers into the body. */
  refusal: ErrorEntry[];
}

export interface Kept {
  id: string;
  draft: Draft;
  changedMs: number;
}

type Here = Pick<PageContext, "viewer" | "config" | "env">;

const DRAFT_ID = /^[A-Za-z0-9_-]{22}$/;

const MISSING = "draft not found: its job is already created, or it was discarded or unchanged for a week";

/** Callers of different kinds may have the same id. */
export function ownerOf({ viewer }: Pick<PageContext, "viewer">): string {
  return `${viewer.caller.kind}:${viewer.caller.id}`;
}

/** 128 random bits. */
export function newDraftId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(16)));
}

/** The draft that the path names. @throws ApiError 404 also for a draft of another caller. */
export async function requireDraft(page: PageContext): Promise<Kept> {
  return required(page, "draft");
}

/** Removes the draft from the store, so that it cannot become a second job. @throws ApiError 404 */
export async function takeDraft(page: PageContext): Promise<Kept> {
  return required(page, "takeDraft");
}

/** The viewer's drafts, last changed first. Drafts that no key decrypts are left out. */
export async function listDrafts(here: Here): Promise<Kept[]> {
  const stored: StoredDraft[] = await controlPlane(here.env.CONTROL).drafts(ownerOf(here));
  return stored.flatMap((each) => opened(here, each) ?? []);
}

/** @throws ApiError 400 if it is too large, 404 if the id belongs to another caller. */
export async function saveDraft(here: Here, id: string, draft: Draft): Promise<void> {
  const text = JSON.stringify(draft);
  if (text.length > DRAFT_MAX_UNITS) throw oneError(400, CODE.invalid, "the draft is too large");
  const owner = ownerOf(here);
  const sealed = seal(text, draftPurpose(here.config.accountId, owner, id), here.config.keys);
  if (!(await controlPlane(here.env.CONTROL).saveDraft(id, owner, sealed))) throw oneError(404, CODE.noRoute, MISSING);
}

async function required(page: PageContext, how: "draft" | "takeDraft"): Promise<Kept> {
  const id = page.params.draft ?? "";
  const stored: StoredDraft | null = DRAFT_ID.test(id)
    ? await controlPlane(page.env.CONTROL)[how](id, ownerOf(page))
    : null;
  const kept = stored === null ? null : opened(page, stored);
  if (kept === null) throw oneError(404, CODE.noRoute, MISSING);
  return kept;
}

const Shape = z.looseObject({ destination: StoredEntry, done: z.array(z.string()) });

/** A destination as the release before the forms of kinds kept it: these are S3's. */
const EarlierEntry = z
  .looseObject({ scheme: z.enum(["s3", "objstore", "r2"]) })
  .transform((earlier) => earlier as Readonly<Record<string, unknown>> & { scheme: string });
const EarlierShape = z.looseObject({ destination: EarlierEntry, done: z.array(z.string()) });

function opened(here: Here, { id, sealed, changedMs }: StoredDraft): Kept | null {
  const text = unseal(sealed, draftPurpose(here.config.accountId, ownerOf(here), id), here.config.keys);
  if (text === null) return null;
  const draft: unknown = JSON.parse(text);
  // Encrypted by this service, but maybe by an older version.
  if (Shape.safeParse(draft).success) return { id, draft: draft as Draft, changedMs };
  const earlier = EarlierShape.safeParse(draft);
  if (!earlier.success) return null;
  const kept = { ...(draft as Draft), destination: fromEarlier(earlier.data.destination, here.config) };
  return { id, draft: { ...kept, tested: null, done: kept.done.filter((step) => step !== "destination") }, changedMs };
}

/** Its texts, by the names of the fields of today's form: `accountId` is `account_id`. */
function fromEarlier(
  earlier: z.output<typeof EarlierEntry>,
  config: Pick<PageContext["config"], "accountId">,
): DestinationEntry {
  const entry = newEntry(earlier.scheme, config);
  const values = Object.keys(entry.values).map((name) => {
    const value = earlier[name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof value === "boolean") return [name, value ? "true" : ""];
    return [name, typeof value === "string" ? value : (entry.values[name] ?? "")];
  });
  return { ...entry, values: Object.fromEntries(values) };
}

/** The `destination_conf` of a draft, keys included: for the API, never for a page. */
export function confOf({ destination }: Draft): Parsed<string> {
  return buildDestination(destination);
}

export function newDraft(destination: DestinationEntry, body: ShippingBody): Draft {
  return {
    destination,
    keysOfJob: false,
    tested: null,
    shared: false,
    body,
    challenge: null,
    proof: null,
    done: [],
    refusal: [],
  };
}
