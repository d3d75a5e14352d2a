import type { FC } from "hono/jsx";
import { buildDestination, type DestinationEntry, entryOf } from "../../../destinations/build.ts";
import { CODE } from "../../../errors.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import { adviceOn, isOfStore } from "./advice.ts";
import {
  type EntryFaults,
  faultOf,
  isMoved,
  localEntry,
  missingOf,
  readEntryForm,
  sharesKeys,
  withKeptKeys,
} from "./destination-entry.ts";
import { DestinationForm } from "./destination-form.tsx";
import { type Draft, type Kept, requireDraft, saveDraft, type Tested } from "./draft.ts";
import { marked, refusedAt, stepPath, stepView } from "./steps.tsx";

/** The first step: where objects go. */
export async function showDestination(page: PageContext): Promise<View> {
  const kept = await requireDraft(page, page.params.draft ?? "");
  const wanted = page.query.get("scheme");
  const { destination } = kept.draft;
  if (wanted === "s3" && destination.scheme !== "s3") return view(page, kept, { ...destination, scheme: "s3" });
  if (wanted === "objstore" && destination.scheme === "s3") {
    const accountId = destination.accountId || page.config.accountId;
    return view(page, kept, { ...destination, scheme: "objstore", accountId });
  }
  return view(page, kept, destination);
}

/** Tests what was entered, and keeps it: the keys, too, so that nobody has to enter them twice. */
export async function takeDestination(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const kept = await requireDraft(page, page.params.draft ?? "");
  const { id, draft } = kept;
  const what = form.get("do");
  if (what === "paste") return pasted(page, kept, (form.get("conf") ?? "").trim());
  const local = what === "local" ? localEntry(page.config) : null;
  const entry = local ?? withKeptKeys(readEntryForm(form), draft, page.config.destinations);
  const changed = changedTo(page, draft, entry);
  const missing = missingOf(entry);
  const built = buildDestination(entry);
  const faults = Object.keys(missing).length > 0 ? missing : built.ok ? {} : faultOf(built.why);
  if (Object.keys(faults).length > 0 || !built.ok) {
    await saveDraft(page, id, changed);
    return view(page, { ...kept, draft: changed }, entry, faults);
  }
  const verdict = await testOf(page, built.value);
  if (!verdict.ok && !isOfStore(verdict.message)) {
    await saveDraft(page, id, changed);
    return view(page, { ...kept, draft: changed }, entry, faultOf(verdict.message));
  }
  const { shared, ...tested } = verdict;
  const goesOn = tested.ok && what === "continue";
  const refusal = draft.refusal.filter((fault) => !refusedAt(draft, "destination").includes(fault));
  const next = marked({ ...changed, tested, shared, refusal }, "destination", tested.ok);
  await saveDraft(page, id, next);
  return seeOther(goesOn ? stepPath(id, "records") : `${stepPath(id, "destination")}#tested`);
}

/** The draft with another destination: what was found out of the one before, is not known of this one. */
function changedTo({ config }: PageContext, draft: Draft, entry: DestinationEntry): Draft {
  const isSame = JSON.stringify(entry) === JSON.stringify(draft.destination);
  if (isSame) return draft;
  const moved = isMoved(draft.destination, entry, config.destinations);
  // As long as one of them is the job's: whoever gives another id for its secret may not take that elsewhere.
  const keysOfJob = draft.keysOfJob && sharesKeys(entry, draft.destination);
  const changed = marked(
    { ...draft, destination: entry, keysOfJob, tested: null, shared: false },
    "destination",
    false,
  );
  return moved ? marked({ ...changed, challenge: null, proof: null }, "ownership", false) : changed;
}

/** Writes to it, as creating a job will. */
async function testOf({ api, nowMs }: PageContext, destination_conf: string): Promise<Tested & { shared: boolean }> {
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
  return { ok: valid, message, atMs: nowMs, shared: exists.ok && exists.result.exists };
}

/** Fills the form with what a text says. It is not shown again: where it is no destination, anything in it may be a key. */
async function pasted(page: PageContext, kept: Kept, conf: string): Promise<PageAnswer> {
  const { id, draft } = kept;
  const read = entryOf(conf, page.config.destinations);
  if (!read.ok)
    return view(
      page,
      kept,
      draft.destination,
      {},
      `${read.why}. What you pasted is not shown again, as there may be keys in it.`,
    );
  const entry = withKeptKeys(read.value, draft, page.config.destinations);
  await saveDraft(page, id, changedTo(page, draft, entry));
  return seeOther(stepPath(id, "destination"));
}

function view(page: PageContext, kept: Kept, entry: DestinationEntry, faults: EntryFaults = {}, paste?: string): View {
  const { viewer, config, nowMs } = page;
  const { id, draft } = kept;
  const here = stepPath(id, "destination");
  const isRefused = Object.keys(faults).length > 0 || paste !== undefined;
  const isShown = !isRefused && entry.scheme === draft.destination.scheme;
  return stepView(
    kept,
    "destination",
    viewer,
    [
      isShown ? <TestResult draft={draft} nowMs={nowMs} /> : null,
      faults.whole === undefined ? null : (
        <Notice kind="bad" title="This is no destination yet">
          <p>
            <Foreign text={faults.whole} />
          </p>
        </Notice>
      ),
      <Panel id="destination" title="Where objects go">
        <Kinds entry={entry} here={here} />
        <Form viewer={viewer} action={here} label="Destination">
          <DestinationForm entry={entry} faults={faults} />
          <p class="quiet">
            Both buttons write a small object, <code>test.txt.gz</code>, below the path, with <code>00010101</code> for
            the date. It is always the same, and it may be deleted. A job is not created where that fails.
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
        <Panel id="local" title="Or the local bucket">
          <p>
            This is local development: a bucket named <code>traces</code> is there, behind a local S3 endpoint, with
            keys that open nothing anywhere else.
          </p>
          <Form viewer={viewer} action={here}>
            <button type="submit" name="do" value="local">
              Use the local bucket
            </button>
          </Form>
        </Panel>
      ),
      <details class="panel" open={paste !== undefined}>
        <summary>Paste a destination_conf instead</summary>
        <Form viewer={viewer} action={here} label="Paste a destination">
          <Field
            name="conf"
            label="destination_conf"
            rows={3}
            spellcheck={false}
            error={paste}
            hint={
              <>
                Such as <code>{"s3://bucket/logs/{DATE}?region=…&access-key-id=…&secret-access-key=…"}</code>. It fills
                the form above, and is not shown again.
              </>
            }
          />
          <button type="submit" name="do" value="paste">
            Fill the form
          </button>
        </Form>
      </details>,
    ],
    { status: isRefused ? 400 : 200, faults: refusedAt(draft, "destination") },
  );
}

const Kinds: FC<{ entry: DestinationEntry; here: string }> = ({ entry, here }) => (
  <nav class="actions" aria-label="Kind of store">
    <span>Kind of store:</span>
    <a href={`${here}?scheme=objstore`} class="button small" aria-current={entry.scheme === "s3" ? undefined : "true"}>
      Object storage of the platform
    </a>
    <a href={`${here}?scheme=s3`} class="button small" aria-current={entry.scheme === "s3" ? "true" : undefined}>
      AWS S3, or another S3 store
    </a>
  </nav>
);

const TestResult: FC<{ draft: Draft; nowMs: number }> = ({ draft: { tested, shared }, nowMs }) => {
  if (tested === null) return null;
  return (
    <div id="tested">
      {tested.ok ? (
        <Notice kind="ok" title="Reachable and writable">
          <p>
            Tested <Ago at={tested.atMs} nowMs={nowMs} />.
          </p>
        </Notice>
      ) : (
        <Notice kind="bad" title="The test object could not be written">
          <p>
            {adviceOn(tested.message)} Creating the job would be refused as well, so this step does not go on before the
            test succeeds.
          </p>
          <p class="quiet">
            <Foreign text={tested.message} max={500} /> · <Ago at={tested.atMs} nowMs={nowMs} />
          </p>
        </Notice>
      )}
      {shared && (
        <Notice kind="warn" title="Another job ships into the same folder">
          <p>
            That works: their objects have different names. But whoever reads the folder gets the records of both, and
            every record twice that both keep.
          </p>
        </Notice>
      )}
    </div>
  );
};
