import * as z from "zod";
import { CODE, type ErrorEntry } from "../../../base/errors.ts";
import type { Config, DestinationContext } from "../../../config.ts";
import type { Terms } from "../../../ship/destinations/destination.ts";
import type { DestinationForm, FormDefaults } from "../../../ship/destinations/destination-form.ts";
import {
  blamedOf,
  choicesOf,
  type DestinationEntry,
  emptyEntry,
  entryOf,
  fieldsOf,
  formOf,
  placeOf,
  requireForm,
  sameServiceEntry,
  sameStoreEntry,
  shownOf,
  withoutMasks,
  withSecretsOf,
} from "../../../ship/destinations/entry.ts";
import { FORMS, termsOf } from "../../../ship/destinations/kinds.ts";
import { parsePlace, samePlace } from "../../../ship/destinations/parse.ts";
import { EXAMPLE_DESTINATION } from "../../api/docs/common.ts";
import { mayBe } from "../pages/shipping/text.ts";
import { visible } from "./foreign.tsx";

/** Before the names of the fields of a destination. */
export const PREFIX = "destination-";

/** Faults by field; `whole`: of the destination; `paste`: of a whole one that was pasted. */
export type EntryFaults = Readonly<Record<string, string>>;

/** An entry that a form carried, maybe of another version. */
export const CarriedEntry = z.object({
  form: z.string().refine((id) => FORMS.some((form) => form.id === id)),
  values: z.record(z.string(), z.string()),
  base: z.string(),
});

/** The endpoint of the local bucket, as `npm start` and `npm run demo` set it. */
const LOCAL_ENDPOINT = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?\/cdn-cgi\/local\/r2\/s3\/?$/;

/**
 * The bucket of local development; its keys are in wrangler.jsonc and work nowhere else. null: not
 * local.
 */
export function localEntry({ destinations }: Config): DestinationEntry | null {
  if (!destinations.allowLoopback || !LOCAL_ENDPOINT.test(destinations.objstoreEndpoint)) return null;
  const entry = entryOf(EXAMPLE_DESTINATION, destinations);
  return entry.ok ? entry.value : null;
}

/** Whether an entry is of the local bucket. */
export function isLocalEntry(entry: DestinationEntry, config: Config): boolean {
  const local = localEntry(config);
  return local !== null && entry.form === local.form && sameStoreEntry(entry, local, config.destinations);
}

/** A new form of a kind; of the first one where there is no such kind. */
export function newEntry(kind: string, defaults: FormDefaults): DestinationEntry {
  return emptyEntry(formOf(kind) ?? (FORMS[0] as DestinationForm), defaults);
}

/** What a new job begins with: the local bucket, a bound one, or R2. */
export function firstEntry(config: Config): DestinationEntry {
  return localEntry(config) ?? newEntry(config.bindings.length > 0 ? "binding" : "", config);
}

/** A stored destination in its fields, secrets as `****`; null: it cannot be read. */
export function storedEntry(masked: string, { destinations }: Pick<Config, "destinations">): DestinationEntry | null {
  const entry = masked === "" ? null : entryOf(masked, destinations);
  return entry?.ok === true ? entry.value : null;
}

/** The form of another kind, with what both ask for in the same words. */
export function ofKind(kind: string, entry: DestinationEntry, config: FormDefaults): DestinationEntry {
  const form = formOf(kind) ?? requireForm(entry);
  if (form.id === entry.form) return entry;
  const empty = newEntry(form.id, config);
  const alike = fieldsOf(form).filter(
    ({ name, label, isSecret, at }) =>
      isSecret !== true &&
      at.masks === undefined &&
      (entry.values[name] ?? "") !== "" &&
      fieldsOf(requireForm(entry)).some((other) => other.name === name && other.label === label),
  );
  const values = Object.fromEntries(alike.map(({ name }) => [name, entry.values[name] ?? ""]));
  return { ...empty, values: { ...empty.values, ...values } };
}

/**
 * The texts of a form. Secrets that were not entered are "", or `****` inside a text.
 * @param before what the form was made with, if it is of the same kind.
 */
export function sentEntry(sent: URLSearchParams, before: DestinationEntry, config: FormDefaults): DestinationEntry {
  const form = formOf(sent.get("scheme") ?? before.form) ?? requireForm(before);
  const was = form.id === before.form ? before : newEntry(form.id, config);
  const texts = fieldsOf(form).map((field) => {
    const text = sent.get(PREFIX + field.name) ?? "";
    const shown = shownOf(field, was);
    const isSame = text === visible(shown) || mayBe(text, shown, field.kind === "lines");
    return [field.name, isSame ? shown : text.trim()];
  });
  const chosen = choicesOf(form).map(({ name, ways }) => {
    const value = sent.get(PREFIX + name);
    return [name, ways.find((way) => way.value === value)?.value ?? ways[0]?.value ?? ""];
  });
  return { ...was, values: Object.fromEntries([...texts, ...chosen]) };
}

/**
 * Fills secrets that were not entered from the entry before. Those of a stored job stay with its
 * store; those that were entered in this form may go to another bucket of the same service.
 */
export function withKeptSecrets(
  entry: DestinationEntry,
  before: DestinationEntry,
  ofJob: boolean,
  context: DestinationContext,
): DestinationEntry {
  const isSame = ofJob ? sameStoreEntry : sameServiceEntry;
  return entry.form === before.form && isSame(before, entry, context)
    ? withSecretsOf(entry, before)
    : withoutMasks(entry);
}

/** Assigns the API's message to a field. */
export function faultsOf(entry: DestinationEntry, message: string): EntryFaults {
  return { [blamedOf(entry, message) ?? "whole"]: message };
}

/** A fault of a destination as the API would say it. */
export function faultOf(message: string): ErrorEntry {
  return { code: CODE.notAllowed, message, source: { pointer: "/destination_conf" } };
}

/** Whether two entries lead to different places: a proof of ownership does not carry over. */
export function isMoved(before: DestinationEntry, after: DestinationEntry, context: DestinationContext): boolean {
  const [one, other] = [placeOf(before, context), placeOf(after, context)];
  return one === null || other === null || !samePlace(one, other);
}

/** What holds of a stored destination; null: it cannot be read. */
export function termsOfConf(conf: string, context: DestinationContext): Terms | null {
  const place = parsePlace(conf, context);
  return place.ok ? termsOf(place.value) : null;
}
