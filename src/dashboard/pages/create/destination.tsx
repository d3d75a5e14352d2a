import type { FC, PropsWithChildren } from "hono/jsx";
import { withoutOuterSlashes } from "../../../destinations/conf.ts";
import {
  buildDestination,
  type DestinationEntry,
  entryOf,
  missingOf,
  requireForm,
  sharesSecrets,
  withoutSecrets,
} from "../../../destinations/entry.ts";
import { probeKey } from "../../../destinations/keys.ts";
import { CODE } from "../../../errors.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import {
  type EntryFaults,
  faultsOf,
  isMoved,
  localEntry,
  ofKind,
  sentEntry,
  withKeptSecrets,
} from "../../parts/destination-entry.ts";
import { DestinationFields, Guarantee, Kinds, PasteForm } from "../../parts/destination-fields.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Form } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { adviceOn, isOfStore, mendOf } from "./advice.ts";
import { type Draft, type Kept, saveDraft, type Tested, termsOfDraft } from "./draft.ts";
import { marked, refusedAt, stepOf, stepPath, stepView } from "./steps.tsx";

export function showDestination(page: PageContext, kept: Kept): View {
  return view(page, kept, ofKind(page.query.get("scheme") ?? "", kept.draft.destination, page.config));
}

/** Stores what was entered, keys included, and tests it. */
export async function takeDestination(page: PageContext, kept: Kept, form: URLSearchParams): Promise<PageAnswer> {
  const { id, draft } = kept;
  const what = form.get("do");
  if (what === "paste") return pasted(page, kept, (form.get("conf") ?? "").trim());
  const local = what === "local" ? localEntry(page.config) : null;
  const entry =
    local ??
    (what === "mend" ? mended(page, draft) : keeping(page, draft, sentEntry(form, draft.destination, page.config)));
  const changed = changedTo(page, draft, entry);
  const missing = missingOf(entry);
  const built = buildDestination(entry);
  const faulty = async (faults: EntryFaults): Promise<View> => {
    await saveDraft(page, id, changed);
    return view(page, { ...kept, draft: changed }, entry, faults);
  };
  if (Object.keys(missing).length > 0) return faulty(missing);
  if (!built.ok) return faulty(faultsOf(entry, built.why));
  const verdict = await testOf(page, built.value);
  if (!verdict.ok && !isOfStore(verdict.message)) return faulty(faultsOf(entry, verdict.message));
  const { shared, ...tested } = verdict;
  const goesOn = tested.ok && what === "continue";
  const refusal = draft.refusal.filter((fault) => stepOf(fault) !== "destination");
  const next = marked({ ...changed, tested, shared, refusal }, "destination", tested.ok);
  await saveDraft(page, id, next);
  return seeOther(goesOn ? stepPath(id, "records") : `${stepPath(id, "destination")}#tested`);
}

/**
 * The draft's destination as the answer to its test suggests. Secrets of a job stay with its store;
 * those that were entered here may go along.
 */
function mended(page: PageContext, draft: Draft): DestinationEntry {
  const entry = { ...draft.destination, values: mendOf(draft)?.values ?? draft.destination.values };
  return draft.keysOfJob ? keeping(page, draft, withoutSecrets(entry)) : entry;
}

function keeping(
  { config }: PageContext,
  { destination, keysOfJob }: Draft,
  entry: DestinationEntry,
): DestinationEntry {
  return withKeptSecrets(entry, destination, keysOfJob, config.destinations);
}

/** Replaces the destination, and drops what was known about the one before. */
function changedTo({ config }: PageContext, draft: Draft, entry: DestinationEntry): Draft {
  const isSame = JSON.stringify(entry) === JSON.stringify(draft.destination);
  if (isSame) return draft;
  const moved = isMoved(draft.destination, entry, config.destinations);
  // One key of the job is enough: with a new ID, its secret must not move elsewhere either.
  const keysOfJob = draft.keysOfJob && sharesSecrets(entry, draft.destination);
  const changed = marked(
    { ...draft, destination: entry, keysOfJob, tested: null, shared: false },
    "destination",
    false,
  );
  return moved ? marked({ ...changed, challenge: null, proof: null }, "ownership", false) : changed;
}

/** Writes a test object, as creating a job does. */
export async function testOf(
  { api, nowMs }: PageContext,
  destination_conf: string,
): Promise<Tested & { shared: boolean }> {
  const [verdict, exists] = await Promise.all([
    api.send<{ valid: boolean; message: string }>("POST", "/logship/validate/destination", { destination_conf }),
    api.send<{ exists: boolean }>("POST", "/logship/validate/destination/exists", { destination_conf }),
  ]);
  if (!verdict.ok) {
    const tooLong = verdict.errors.find(({ code }) => code === CODE.invalid);
    if (tooLong === undefined) throw new InnerFailure(verdict.status, verdict.errors);
    return { ok: false, message: tooLong.message, atMs: nowMs, shared: false };
  }
  const { valid, message } = verdict.result;
  const remarks = verdict.messages.map((note) => note.message.replace(/^destination_conf: /, ""));
  return { ok: valid, message, remarks, atMs: nowMs, shared: exists.ok && exists.result.exists };
}

/**
 * Fills the form from a pasted `destination_conf`. Invalid text is not shown again: any part of it
 * may be a key.
 */
async function pasted(page: PageContext, kept: Kept, conf: string): Promise<PageAnswer> {
  const { id, draft } = kept;
  const read = entryOf(conf, page.config.destinations);
  if (!read.ok)
    return view(
      page,
      kept,
      draft.destination,
      {},
      `${read.why}. The pasted text is not shown again: it may contain keys.`,
    );
  await saveDraft(page, id, changedTo(page, draft, keeping(page, draft, read.value)));
  return seeOther(stepPath(id, "destination"));
}

function view(page: PageContext, kept: Kept, entry: DestinationEntry, faults: EntryFaults = {}, paste?: string): View {
  const { viewer, config, nowMs } = page;
  const { id, draft } = kept;
  const here = stepPath(id, "destination");
  const isRefused = Object.keys(faults).length > 0 || paste !== undefined;
  const isShown = !isRefused && entry.form === draft.destination.form;
  return stepView(
    kept,
    "destination",
    viewer,
    [
      isShown ? <TestResult draft={draft} nowMs={nowMs} viewer={viewer} here={here} /> : null,
      <NotValid why={faults.whole} />,
      <Panel id="destination" title="Destination">
        <Kinds entry={entry} here={`${here}?`} />
        <Form viewer={viewer} action={here} label="Destination">
          <input type="hidden" name="scheme" value={entry.form} />
          <DestinationFields entry={entry} faults={faults} nowMs={nowMs} />
          <p>
            <Guarantee terms={requireForm(entry).terms} />
          </p>
          <p class="quiet">
            <WhatTestDoes entry={entry} />
          </p>
          <div class="actions">
            <button type="submit" name="do" value="continue" class="primary">
              Test and continue
            </button>
            <button type="submit" name="do" value="test">
              Test
            </button>
          </div>
        </Form>
      </Panel>,
      localEntry(config) === null ? null : (
        <Panel id="local" title="Local bucket">
          <p>
            The bucket <code>traces</code> of local development.
          </p>
          <Action
            viewer={viewer}
            action={here}
            label="Use the local bucket"
            needs="logs:edit"
            fields={{ do: "local" }}
          />
        </Panel>
      ),
      <PasteForm viewer={viewer} action={here} path="logs" error={paste} />,
    ],
    { status: isRefused ? 400 : 200, faults: refusedAt(draft, "destination") },
  );
}

/** What a test leaves at a destination. */
export const WhatTestDoes: FC<{ entry: DestinationEntry }> = ({ entry }) =>
  requireForm(entry).group === "store" ? (
    <>
      The test writes a small object, such as{" "}
      <code>
        <Foreign text={probeKey(withoutOuterSlashes(entry.values.path ?? ""))} max={1_024} />
      </code>
      . You can delete it.
    </>
  ) : requireForm(entry).testLeavesNothing === true ? (
    <>The test sends a request without a record.</>
  ) : (
    <>The test sends one small record.</>
  );

/** Why what was entered is no destination, if it is none. */
export const NotValid: FC<{ why: string | undefined }> = ({ why }) =>
  why === undefined ? null : (
    <Notice kind="bad" title="Not a valid destination">
      <p>
        <Foreign text={why} />
      </p>
    </Notice>
  );

/** How a test of a destination ended, with what may be done after a failed one. */
export const Outcome: FC<PropsWithChildren<{ tested: Tested; nowMs: number }>> = ({ tested, nowMs, children }) =>
  tested.ok ? (
    <>
      <Notice kind="ok" title="Reachable and writable">
        <p>
          Tested <Ago at={tested.atMs} nowMs={nowMs} />.
        </p>
      </Notice>
      {(tested.remarks ?? []).map((remark) => (
        <Notice kind="info" title="What to know of it">
          <p>
            It works: <Foreign text={remark} max={500} />.
          </p>
        </Notice>
      ))}
    </>
  ) : (
    <Notice kind="bad" title="Test failed">
      <p>{adviceOn(tested.message)}</p>
      <p class="quiet">
        <Foreign text={tested.message} max={500} /> · <Ago at={tested.atMs} nowMs={nowMs} />
      </p>
      {children}
    </Notice>
  );

const TestResult: FC<{ draft: Draft; nowMs: number; viewer: Viewer; here: string }> = ({ draft, nowMs, ...form }) => {
  const { tested, shared } = draft;
  if (tested === null) return null;
  const mend = mendOf(draft);
  return (
    <div id="tested">
      <Outcome tested={tested} nowMs={nowMs}>
        {mend !== null && (
          <Action
            viewer={form.viewer}
            action={form.here}
            label={mend.words}
            needs="logs:edit"
            fields={{ do: "mend" }}
          />
        )}
      </Outcome>
      {shared &&
        (termsOfDraft(draft).isReadable ? (
          <Notice kind="warn" title="Another job ships to the same folder">
            <p>Object names never collide, but a reader of the folder gets the records of both jobs.</p>
          </Notice>
        ) : (
          <Notice kind="warn" title="Another job ships there">
            <p>The receiver gets the records of both jobs.</p>
          </Notice>
        ))}
    </div>
  );
};
