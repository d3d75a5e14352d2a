import type { FC } from "hono/jsx";
import * as z from "zod";
import { toBase64Url } from "../../../../base/bytes.ts";
import { ENTERED_MS } from "../../../../base/limits.ts";
import type { DestinationContext } from "../../../../config.ts";
import { decrypt, destinationPurpose, encrypt, enteredPurpose } from "../../../../formats/secrets/encrypted.ts";
import {
  buildDestination,
  type DestinationEntry,
  entryOf,
  missingOf,
  placeOf,
  requireForm,
  sharesSecrets,
  withoutSecrets,
  withSecretsOf,
} from "../../../../ship/destinations/entry.ts";
import { maskDestination, parsePlace } from "../../../../ship/destinations/parse.ts";
import type { StoredJob } from "../../../../state/control/plane.ts";
import type { PageContext } from "../../page.ts";
import {
  CarriedEntry,
  type EntryFaults,
  faultsOf,
  firstEntry,
  isLocalEntry,
  isMoved,
  localEntry,
  newEntry,
  ofKind,
  sentEntry,
  storedEntry,
  withKeptSecrets,
} from "../../parts/destination-entry.ts";
import { coded, DestinationFields, Guarantee, Kinds } from "../../parts/destination-fields.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { DO_FIELD, Field } from "../../parts/form.tsx";
import { mendOf, Outcome, type Tested } from "./test-write.tsx";

/** What a form with a destination begins with. */
export interface Origin {
  /** What the destination is entered for: what was entered opens for nothing else. */
  what: string;
  /** The untouched form, without secrets. */
  fresh: DestinationEntry;
  /** The stored destination, whose secrets are kept for the same store; null: none. */
  stored: DestinationEntry | null;
  /** The folder of a new path. */
  folder: string;
}

/** The last challenge of a place, and what proves that it can be read. */
export interface Proof {
  /** The key of the object with the challenge; null: none was written. */
  challenge: string | null;
  /** The challenge as read back or entered; null: not yet. */
  token: string | null;
}

/** A destination as a form holds it. */
export interface Entered {
  /** Without the secrets of the stored one. */
  entry: DestinationEntry;
  /** With them, where they may be kept. */
  whole: DestinationEntry;
  /** The `destination_conf`: for the API, never for a page. null: `faults` say why. */
  conf: string | null;
  faults: EntryFaults;
  proof: Proof;
}

const NO_PROOF: Proof = { challenge: null, token: null };

/** A new form of a kind, with another folder than a new job's. */
export function originOf({ config, query }: PageContext, what: string, folder: string): Origin {
  const fresh = inFolder(newEntry(query.get("scheme") ?? "", config), folder);
  return { what, fresh, stored: null, folder };
}

/** A form that begins with the destination of a stored job. Its secrets are on no page. */
export function originOfJob(
  { config }: PageContext,
  { config: { destination } }: StoredJob,
): Pick<Origin, "fresh" | "stored"> {
  const conf = decrypt(destination, destinationPurpose(config.accountId), config.keys) ?? "";
  const shown = storedEntry(maskDestination(conf), config);
  return {
    fresh: shown === null ? firstEntry(config) : withoutSecrets(shown),
    stored: storedEntry(conf, config),
  };
}

/** The form before anything was entered. */
export function begun({ config, query }: PageContext, { fresh, stored, folder }: Origin): Entered {
  const entry = inFolder(ofKind(query.get("scheme") ?? "", fresh, config), folder);
  return { ...wholeOf(entry, stored, config), faults: {}, proof: NO_PROOF };
}

function inFolder(entry: DestinationEntry, folder: string): DestinationEntry {
  const { path } = entry.values;
  return path === "logs/{DATE}" ? { ...entry, values: { ...entry.values, path: `${folder}/{DATE}` } } : entry;
}

/** Without faults: what is not complete yet is none. Pasted text is not kept, which is said. */
export function soFar(entered: Entered): Entered {
  const { paste } = entered.faults;
  return { ...entered, faults: paste === undefined ? {} : { paste } };
}

/** Reads the form, whichever button was pressed. */
export function readEntered(page: PageContext, form: URLSearchParams, origin: Origin): Entered {
  const { config } = page;
  const carried = carriedIn(page, form, origin);
  const was = carried?.entry ?? origin.fresh;
  const kept = (entry: DestinationEntry): DestinationEntry => withKeptSecrets(entry, was, false, config.destinations);
  const sent = kept(sentEntry(form, was, config));
  const pasted = (form.get("destination_conf") ?? "").trim();
  const read = pasted === "" ? null : entryOf(pasted, config.destinations);
  const [, what, kind = ""] = /^(kind|mend)(?::(\w+))?$/.exec(form.get(DO_FIELD) ?? "") ?? [];
  const typed = read?.ok === true ? kept(read.value) : sent;
  const entry = what === "kind" ? chosen(page, kind, typed, origin) : what === "mend" ? mended(typed, form) : typed;
  const built = wholeOf(entry, origin.stored, config);
  const token = form.get("ownership_challenge")?.trim() || null;
  const before = carried === null || isMoved(was, entry, config.destinations) ? NO_PROOF : carried.proof;
  const proof = token === null ? before : { ...before, token };
  if (read?.ok !== false) return { ...built, proof };
  const paste = `${read.why}. logship does not show the pasted text again: it may contain keys.`;
  return { ...built, conf: null, faults: { paste }, proof };
}

function chosen({ config }: PageContext, kind: string, entry: DestinationEntry, origin: Origin): DestinationEntry {
  const local = kind === "local" ? localEntry(config) : null;
  return inFolder(local ?? ofKind(kind, entry, config), origin.folder);
}

function wholeOf(
  entry: DestinationEntry,
  stored: DestinationEntry | null,
  { destinations }: PageContext["config"],
): Omit<Entered, "proof"> {
  const whole = stored === null ? entry : withKeptSecrets(entry, stored, true, destinations);
  const nowhere = stored === null ? null : nowhereOf(entry, stored, destinations);
  if (nowhere !== null) return { entry, whole, conf: null, faults: nowhere };
  const missing = missingOf(whole);
  if (Object.keys(missing).length > 0) return { entry, whole, conf: null, faults: missing };
  const built = buildDestination(whole);
  return built.ok
    ? { entry, whole, conf: built.value, faults: {} }
    : { entry, whole, conf: null, faults: faultsOf(whole, built.why) };
}

/**
 * Why an entry leads nowhere, apart from the secrets that are kept of the stored one once it leads
 * to its store again. null: it leads somewhere.
 */
function nowhereOf(entry: DestinationEntry, stored: DestinationEntry, context: DestinationContext): EntryFaults | null {
  if (entry.form !== stored.form || placeOf(entry, context) !== null) return null;
  const judged = withSecretsOf(entry, stored);
  const missing = missingOf(judged);
  if (Object.keys(missing).length > 0) return missing;
  const built = buildDestination(judged);
  const place = built.ok ? parsePlace(built.value, context) : built;
  return place.ok ? null : faultsOf(entry, place.why);
}

/** What the form's page carries, so that what is never shown has to be entered once only. */
const Carried = z.object({
  untilMs: z.number(),
  entry: CarriedEntry,
  proof: z.object({ challenge: z.string().nullable(), token: z.string().nullable() }),
});

const purposeOf = ({ config, viewer }: PageContext, { what }: Origin): string =>
  enteredPurpose(config.accountId, toBase64Url(viewer.sessionHash), what);

/** null: nothing was entered before, or too long ago, or elsewhere. */
function carriedIn(page: PageContext, form: URLSearchParams, origin: Origin): z.output<typeof Carried> | null {
  const text = decrypt(form.get("entered") ?? "", purposeOf(page, origin), page.config.keys);
  const read = text === null ? null : Carried.safeParse(JSON.parse(text));
  return read?.success === true && read.data.untilMs > page.nowMs ? read.data : null;
}

/** The entry as the answer to its test suggests. Its own secrets go along, and no stored ones. */
function mended(entry: DestinationEntry, form: URLSearchParams): DestinationEntry {
  const values = mendOf(entry, form.get("told") ?? "")?.values;
  return values === undefined ? entry : { ...entry, values };
}

/**
 * The controls of a destination, in the form of a page. @param isNew its kind is to be chosen.
 */
export const DestinationPart: FC<{
  page: PageContext;
  origin: Origin;
  entered: Entered;
  tested?: Tested | undefined;
  isNew?: boolean;
}> = ({ page, origin, entered, tested, isNew = false }) => {
  const { config, nowMs } = page;
  const { entry, whole, faults, proof } = entered;
  const form = requireForm(entry);
  const carried: z.input<typeof Carried> = { untilMs: nowMs + ENTERED_MS, entry, proof };
  const isCarried = sharesSecrets(entry, entry) || proof.challenge !== null || proof.token !== null;
  return (
    <>
      {isCarried && (
        <input
          type="hidden"
          name="entered"
          value={encrypt(JSON.stringify(carried), purposeOf(page, origin), config.keys)}
        />
      )}
      <input type="hidden" name="scheme" value={entry.form} />
      <Kinds entry={entry} config={config} open={isNew} />
      <p class="quiet">
        {coded(form.about)} <Guarantee terms={form.terms} />
      </p>
      {tested !== undefined && <Outcome tested={tested} entry={entry} />}
      {faults.whole !== undefined && <Foreign as="p" class="error" text={faults.whole} />}
      <DestinationFields entry={whole} faults={faults} nowMs={nowMs} isLocal={isLocalEntry(entry, config)} />
      <details class="further" open={faults.paste !== undefined}>
        <summary>Paste a whole address</summary>
        <Field
          name="destination_conf"
          label="destination_conf"
          rows={3}
          spellcheck={false}
          autocomplete="off"
          error={faults.paste}
          hint={
            <>
              Replaces the fields above. Such as{" "}
              <code>{`s3://bucket/${origin.folder}/{DATE}?region=…&access-key-id=…&secret-access-key=…`}</code>
              {origin.stored !== null && (
                <>
                  ; <code>****</code> keeps a stored secret
                </>
              )}
              .
            </>
          }
        />
      </details>
    </>
  );
};
