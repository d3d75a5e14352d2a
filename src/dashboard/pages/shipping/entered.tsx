import type { Child, FC, PropsWithChildren } from "hono/jsx";
import {
  buildDestination,
  type DestinationEntry,
  entryOf,
  missingOf,
  requireForm,
  sharesSecrets,
} from "../../../destinations/entry.ts";
import { seal, unseal } from "../../../job/secrets.ts";
import type { PageContext } from "../../page.ts";
import {
  type EntryFaults,
  faultsOf,
  newEntry,
  StoredEntry,
  sentEntry,
  withKeptSecrets,
} from "../../parts/destination-entry.ts";
import { DestinationFields, Guarantee, Kinds, PasteForm } from "../../parts/destination-fields.tsx";
import { Form } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import { isOfStore } from "../create/advice.ts";
import { NotValid, Outcome, testOf, WhatTestDoes } from "../create/destination.tsx";
import type { Tested } from "../create/draft.ts";

/** A destination that is entered in one form, tested, and used at once. */
export interface Entered {
  entry: DestinationEntry;
  faults?: EntryFaults;
  tested?: Tested;
  /** Why what was pasted is no destination. */
  paste?: string;
  /** It is tested and to be used; absent: the form is shown again. */
  conf?: string;
}

/** A new form, with another folder than a new job's. @param folder in place of `logs`. */
export function emptyForm({ config }: Pick<PageContext, "config">, kind: string, folder: string): DestinationEntry {
  const entry = newEntry(kind, config);
  const path = entry.values.path?.replace("logs/{DATE}", `${folder}/{DATE}`);
  return path === undefined ? entry : { ...entry, values: { ...entry.values, path } };
}

/**
 * Takes the form. @param purpose of what it carries between a test and its use, keys included:
 * sealed for this caller and thing. @param folder as of {@link emptyForm}.
 */
export async function takeEntered(
  page: PageContext,
  form: URLSearchParams,
  purpose: string,
  folder: string,
): Promise<Entered> {
  const { config } = page;
  const was = keptIn(page, form, purpose) ?? emptyForm(page, form.get("scheme") ?? "", folder);
  const kept = (entry: DestinationEntry): DestinationEntry => withKeptSecrets(entry, was, false, config.destinations);
  const what = form.get("do");
  if (what === "paste") {
    const read = entryOf((form.get("conf") ?? "").trim(), config.destinations);
    if (read.ok) return { entry: kept(read.value) };
    return { entry: was, paste: `${read.why}. The pasted text is not shown again: it may contain keys.` };
  }
  const entry = kept(sentEntry(form, was, config));
  const missing = missingOf(entry);
  if (Object.keys(missing).length > 0) return { entry, faults: missing };
  const built = buildDestination(entry);
  if (!built.ok) return { entry, faults: faultsOf(entry, built.why) };
  const tested = await testOf(page, built.value);
  if (!tested.ok && !isOfStore(tested.message)) return { entry, faults: faultsOf(entry, tested.message) };
  return { entry, tested, ...(tested.ok && what === "start" && { conf: built.value }) };
}

/** What was entered before; null: nothing was, or no key opens it. */
function keptIn({ config }: PageContext, form: URLSearchParams, purpose: string): DestinationEntry | null {
  const text = unseal(form.get("entered") ?? "", purpose, config.keys);
  const read = text === null ? null : StoredEntry.safeParse(JSON.parse(text));
  return read?.success === true ? read.data : null;
}

export function isRefused({ faults = {}, paste }: Entered): boolean {
  return Object.keys(faults).length > 0 || paste !== undefined;
}

/**
 * The form. Its children stand before its buttons.
 * @param here where other kinds are chosen, as of {@link Kinds}. @param carried more of what it
 *   carries. @param about beside what the test does. @param start the label of the button.
 */
export const EnteredForm: FC<
  PropsWithChildren<{
    page: PageContext;
    entered: Entered;
    purpose: string;
    action: string;
    here: string;
    folder: string;
    carried?: Child;
    about: Child;
    start: string;
    disabled?: boolean;
  }>
> = ({ page, entered, purpose, action, here, folder, carried, about, start, disabled, children }) => {
  const { viewer, config, nowMs } = page;
  const { entry, faults = {}, tested, paste } = entered;
  const fields = (
    <>
      {carried}
      {sharesSecrets(entry, entry) && (
        <input type="hidden" name="entered" value={seal(JSON.stringify(entry), purpose, config.keys)} />
      )}
    </>
  );
  return (
    <>
      {tested === undefined ? null : <Outcome tested={tested} nowMs={nowMs} />}
      <NotValid why={faults.whole} />
      <Panel id="destination" title="Destination">
        <Kinds entry={entry} here={here} />
        <Form viewer={viewer} action={action} label="Destination">
          {fields}
          <input type="hidden" name="scheme" value={entry.form} />
          <DestinationFields entry={entry} faults={faults} nowMs={nowMs} />
          <p>
            <Guarantee terms={requireForm(entry).terms} />
          </p>
          {children}
          <p class="quiet">
            <WhatTestDoes entry={entry} /> {about}
          </p>
          <div class="actions">
            <button type="submit" name="do" value="start" class="primary" disabled={disabled === true}>
              {start}
            </button>
            <button type="submit" name="do" value="test">
              Test
            </button>
          </div>
        </Form>
      </Panel>
      <PasteForm viewer={viewer} action={action} path={folder} error={paste}>
        {fields}
      </PasteForm>
    </>
  );
};
