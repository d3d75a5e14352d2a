import type { DestinationContext } from "../../config.ts";
import { joinConf, splitConf } from "./conf.ts";
import type { Parsed, Place } from "./destination.ts";
import type { DestinationForm, FormChoice, FormDefaults, FormField, FormPart, Values } from "./destination-form.ts";
import { FORMS } from "./kinds.ts";
import { MASK } from "./masks.ts";
import { parsePlace, sameStore } from "./parse.ts";

/** A `destination_conf` as a form has it. */
export interface DestinationEntry {
  /** Id of its form. */
  form: string;
  values: Values;
  /** The string that it was read from, which keeps the spelling of what is not changed. */
  base: string;
}

/** A new form. */
export function emptyEntry(form: DestinationForm, defaults: FormDefaults): DestinationEntry {
  const start = readWith(form, form.start);
  const initial = fieldsOf(form).map(({ name, initial: given }) => [
    name,
    (typeof given === "function" ? given(defaults) : given) ?? start.values[name] ?? "",
  ]);
  return { ...start, values: { ...start.values, ...Object.fromEntries(initial) } };
}

/** @param id of a form, or a scheme. null: there is none. */
export function formOf(id: string): DestinationForm | null {
  const parts = { scheme: id, authority: "", path: "", query: "" };
  return FORMS.find((form) => form.id === id) ?? FORMS.find((form) => form.owns(parts)) ?? null;
}

/**
 * A string in its parts, with masked secrets as `****`. @returns in words why it is no destination,
 * apart from its credentials.
 */
export function entryOf(conf: string, context: DestinationContext): Parsed<DestinationEntry> {
  const place = parsePlace(conf, context);
  if (!place.ok) return place;
  const parts = splitConf(conf);
  const form = parts === null ? undefined : FORMS.find((each) => each.owns(parts));
  if (form === undefined) throw new Error("a destination without a form");
  return { ok: true, value: readWith(form, conf) };
}

function readWith(form: DestinationForm, conf: string): DestinationEntry {
  const parts = splitConf(conf);
  if (parts === null) throw new Error("a destination of another shape");
  const isClaimed = claimedBy(form);
  const values = Object.fromEntries(fieldsOf(form).map(({ name, at }) => [name, at.get(parts, isClaimed)]));
  const chosen = choicesOf(form).map(({ name, ways }) => {
    const way = ways.find(({ fields }) => fields.some((field) => values[field.name] !== ""));
    return [name, (way ?? ways[0])?.value ?? ""];
  });
  return { form: form.id, values: { ...values, ...Object.fromEntries(chosen) }, base: conf };
}

/**
 * The string of an entry: {@link entryOf} reads exactly what was entered. What was not changed is
 * spelled as it was.
 * @returns why there is none. Only `parseDestination` says whether it is a destination.
 */
export function buildDestination(entry: DestinationEntry): Parsed<string> {
  const form = requireForm(entry);
  const before = splitConf(entry.base);
  if (before === null) return { ok: false, why: "this is not a destination" };
  const isClaimed = claimedBy(form);
  let parts = before;
  for (const field of fieldsOf(form)) {
    const value = isChosen(form, entry, field) ? (entry.values[field.name] ?? "") : "";
    if (!value.isWellFormed()) return { ok: false, why: "this is not well-formed text" };
    if (value === field.at.get(before, isClaimed)) continue;
    const changed = field.at.set(parts, value, isClaimed);
    if (!changed.ok) return changed;
    parts = changed.value;
  }
  return { ok: true, value: parts === before ? entry.base : joinConf(parts) };
}

/** What is shown of a field: nothing of a secret. */
export function shownOf({ name, at, isSecret }: FormField, { values }: DestinationEntry): string {
  const value = values[name] ?? "";
  return isSecret === true ? "" : (at.masks?.hide(value) ?? value);
}

/** The entry with the secrets of another one where it has none, or shows `****`. */
export function withSecretsOf(entry: DestinationEntry, stored: DestinationEntry): DestinationEntry {
  return mapSecrets(entry, ({ name, at }, value) => {
    const known = stored.values[name] ?? "";
    if (at.masks !== undefined) return at.masks.restore(value, known);
    return value === "" || value === MASK ? known : value;
  });
}

/** The entry without its secrets: what would be sent of them is empty, or `****`. */
export function withoutSecrets(entry: DestinationEntry): DestinationEntry {
  return mapSecrets(entry, ({ at }, value) => at.masks?.hide(value) ?? "");
}

/** The entry with nothing for each secret that is masked as a whole. */
export function withoutMasks(entry: DestinationEntry): DestinationEntry {
  return mapSecrets(entry, (_field, value) => (value === MASK ? "" : value));
}

function mapSecrets(entry: DestinationEntry, map: (field: FormField, value: string) => string): DestinationEntry {
  const secret = fieldsOf(requireForm(entry)).filter(({ isSecret, at }) => isSecret === true || at.masks !== undefined);
  const mapped = secret.map((field) => [field.name, map(field, entry.values[field.name] ?? "")]);
  return { ...entry, values: { ...entry.values, ...Object.fromEntries(mapped) } };
}

/** Whether one secret of both is the same. */
export function sharesSecrets(a: DestinationEntry, b: DestinationEntry): boolean {
  if (a.form !== b.form) return false;
  return fieldsOf(requireForm(a)).some(({ name, at, isSecret }) => {
    const [one = "", other = ""] = [a.values[name], b.values[name]];
    if (isSecret === true) return one !== "" && one === other;
    // Whether one of several secrets in a text is kept cannot be seen from its mask.
    return (
      at.masks !== undefined &&
      at.masks.hide(other) !== other &&
      at.masks.restore(at.masks.hide(one), other) !== at.masks.hide(one)
    );
  });
}

/** Whether the secrets of one entry may be kept for the other: as {@link sameStore} says. */
export function sameStoreEntry(a: DestinationEntry, b: DestinationEntry, context: DestinationContext): boolean {
  const [before, after] = [placeOf(a, context), placeOf(b, context)];
  return before !== null && after !== null && sameStore(before, after);
}

/**
 * Whether what was entered for one may be kept for the other: the same service and account,
 * whatever is asked for below them. Secrets of an invalid destination were never used anywhere.
 */
export function sameServiceEntry(a: DestinationEntry, b: DestinationEntry, context: DestinationContext): boolean {
  const [before, after] = [a, b].map((entry) => placeOf(withStubs(entry), context));
  if (before == null) return true;
  return (
    after != null &&
    before.scheme === after.scheme &&
    before.endpoint.origin === after.endpoint.origin &&
    before.accountId === after.accountId
  );
}

function withStubs(entry: DestinationEntry): DestinationEntry {
  const stubs = fieldsOf(requireForm(entry)).flatMap(({ name, stub }) => (stub === undefined ? [] : [[name, stub]]));
  return { ...entry, values: { ...entry.values, ...Object.fromEntries(stubs) } };
}

/**
 * null: it is no destination. Its credentials do not count: an overlong key must not make a
 * destination invalid.
 */
export function placeOf(entry: DestinationEntry, context: DestinationContext): Place | null {
  const built = buildDestination(withoutSecrets(entry));
  const place = built.ok ? parsePlace(built.value, context) : null;
  return place?.ok === true ? place.value : null;
}

/** What to say of each field that is missing, by its name. */
export function missingOf(entry: DestinationEntry): Record<string, string> {
  const form = requireForm(entry);
  const lacking = fieldsOf(form).flatMap((field) =>
    field.missing !== undefined && isChosen(form, entry, field) && (entry.values[field.name] ?? "") === ""
      ? [[field.name, field.missing]]
      : [],
  );
  return Object.fromEntries(lacking);
}

/** The field that the words of a fault are about; null: none of them. */
export function blamedOf({ form }: Pick<DestinationEntry, "form">, words: string): string | null {
  const field = fieldsOf(requireForm({ form })).find(
    ({ at, blamed }) =>
      blamed?.test(words) === true ||
      at.claims.some((name) => new RegExp(`^(?:the )?${pattern(name)}\\b`, "i").test(words)),
  );
  return field?.name ?? null;
}

/** A claimed name in the words of a fault: `header_x-y` is `header x-y`. */
function pattern(name: string): string {
  return name.replace(/^header_/, "header ").replace(/[^a-z0-9 ]/gi, "\\$&");
}

export function requireForm({ form }: Pick<DestinationEntry, "form">): DestinationForm {
  const found = FORMS.find(({ id }) => id === form);
  if (found === undefined) throw new Error("an entry of no form");
  return found;
}

export function isChoice(part: FormPart): part is FormChoice {
  return "ways" in part;
}

export function choicesOf({ parts }: DestinationForm): FormChoice[] {
  return parts.filter(isChoice);
}

/** All fields, of every way. */
export function fieldsOf({ parts }: DestinationForm): FormField[] {
  return parts.flatMap((part) => (isChoice(part) ? part.ways.flatMap(({ fields }) => fields) : part));
}

/** Whether a field is of the way that was chosen. */
function isChosen(form: DestinationForm, { values }: DestinationEntry, field: FormField): boolean {
  return choicesOf(form).every(({ name, ways }) => {
    const way = ways.find(({ fields }) => fields.includes(field));
    return way === undefined || way.value === (values[name] || ways[0]?.value);
  });
}

function claimedBy(form: DestinationForm): (parameter: string) => boolean {
  const claims = new Set(fieldsOf(form).flatMap(({ at }) => at.claims));
  return (parameter) => claims.has(parameter);
}
