import * as z from "zod";
import { toBase64Url } from "../../../bytes.ts";
import type { StoredDraft } from "../../../control/drafts.ts";
import { controlPlane } from "../../../control/plane.ts";
import { buildDestination, type DestinationEntry } from "../../../destinations/build.ts";
import type { Parsed } from "../../../destinations/destination.ts";
import { CODE, type ErrorEntry, oneError } from "../../../errors.ts";
import { draftPurpose, seal, unseal } from "../../../job/secrets.ts";
import { DRAFT_MAX_UNITS } from "../../../limits.ts";
import type { PageContext } from "../../page.ts";
import type { ShippingBody } from "../shipping/body.ts";

/** The way to a job, in its order. */
export const STEPS = [
  { name: "destination", label: "Destination" },
  { name: "records", label: "Records" },
  { name: "output", label: "Output" },
  { name: "preview", label: "Preview" },
  { name: "ownership", label: "Ownership" },
  { name: "finish", label: "Finish" },
] as const;

export type StepName = (typeof STEPS)[number]["name"];

/** What the store said when it was last written to. */
export interface Tested {
  ok: boolean;
  /** In the words of the API. */
  message: string;
  atMs: number;
}

/** Somebody's way to a job. All of it is sealed before it is stored, and no page shows the keys in it. */
export interface Draft {
  destination: DestinationEntry;
  /** The keys are those of a stored job, whoever entered them: they are for its bucket alone. */
  keysOfJob: boolean;
  tested: Tested | null;
  /** Another job ships into the same folder. */
  shared: boolean;
  body: ShippingBody;
  /** Where the last ownership challenge is, below the bucket; null: none was written there. */
  challenge: string | null;
  /** The proof, once it was found to be right; null: there is none yet. */
  proof: string | null;
  /** Steps that were gone through. */
  done: StepName[];
  /** Why the job could not be created, each with its place in the body. */
  refusal: ErrorEntry[];
}

/** A draft and its id. */
export interface Kept {
  id: string;
  draft: Draft;
  changedMs: number;
}

type Here = Pick<PageContext, "viewer" | "config" | "env">;

const DRAFT_ID = /^[A-Za-z0-9_-]{22}$/;

const MISSING =
  "there is no such draft: its job is created already, or it was thrown away, or nobody went on with it for a week";

/** What stands for whose it is: two of different kinds may have the same id. */
function ownerOf({ viewer }: Here): string {
  return `${viewer.caller.kind}:${viewer.caller.id}`;
}

/** A new id: 128 bits of chance. */
export function newDraftId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(16)));
}

/** @throws ApiError 404 for one that is not there, and for somebody else's. */
export async function requireDraft(here: Here, id: string): Promise<Kept> {
  const stored: StoredDraft | null = DRAFT_ID.test(id)
    ? await controlPlane(here.env.CONTROL).draft(id, ownerOf(here))
    : null;
  return required(here, stored);
}

/** Takes a draft out of the store, so that nobody makes a second job of it. @throws ApiError 404, as {@link requireDraft}. */
export async function takeDraft(here: Here, id: string): Promise<Kept> {
  const stored: StoredDraft | null = DRAFT_ID.test(id)
    ? await controlPlane(here.env.CONTROL).takeDraft(id, ownerOf(here))
    : null;
  return required(here, stored);
}

/** The viewer's own, the last changed first. Those that no key opens are left out. */
export async function listDrafts(here: Here): Promise<Kept[]> {
  const stored: StoredDraft[] = await controlPlane(here.env.CONTROL).drafts(ownerOf(here));
  return stored.flatMap((each) => opened(here, each) ?? []);
}

/** @throws ApiError 400 if it is too large, 404 if the id is somebody else's. */
export async function saveDraft(here: Here, id: string, draft: Draft): Promise<void> {
  const text = JSON.stringify(draft);
  if (text.length > DRAFT_MAX_UNITS) throw oneError(400, CODE.invalid, "this is more than a job can hold");
  const owner = ownerOf(here);
  const sealed = seal(text, draftPurpose(here.config.accountId, owner, id), here.config.keys);
  if (!(await controlPlane(here.env.CONTROL).saveDraft(id, owner, sealed))) throw oneError(404, CODE.noRoute, MISSING);
}

function required(here: Here, stored: StoredDraft | null): Kept {
  const kept = stored === null ? null : opened(here, stored);
  if (kept === null) throw oneError(404, CODE.noRoute, MISSING);
  return kept;
}

const Shape = z.looseObject({ destination: z.looseObject({ scheme: z.string() }), done: z.array(z.string()) });

function opened(here: Here, { id, sealed, changedMs }: StoredDraft): Kept | null {
  const text = unseal(sealed, draftPurpose(here.config.accountId, ownerOf(here), id), here.config.keys);
  if (text === null) return null;
  const draft: unknown = JSON.parse(text);
  // Sealed here, and by no one else; but by an older version, perhaps.
  return Shape.safeParse(draft).success ? { id, draft: draft as Draft, changedMs } : null;
}

/** The `destination_conf` of a draft, with its keys: for the API, never for a page. */
export function confOf({ destination }: Draft): Parsed<string> {
  return buildDestination(destination);
}

/** A draft of which nothing is entered. */
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
