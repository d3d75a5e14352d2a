/** The form of a job, new or stored: what it shows, and what its buttons but the last one do. */
import type { Child, FC } from "hono/jsx";
import { CODE, type ErrorEntry } from "../../../../base/errors.ts";
import { requireForm } from "../../../../ship/destinations/entry.ts";
import { maskDestination } from "../../../../ship/destinations/parse.ts";
import { NUMBER_NAMES } from "../../../../ship/job/fields.ts";
import type { Message } from "../../../api/envelope.ts";
import type { PageContext } from "../../page.ts";
import { faultOf, termsOfConf } from "../../parts/destination-entry.ts";
import { Errors } from "../../parts/failure.tsx";
import { Button, DO_FIELD, Field, Form, may } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import { faultAt, inShort, type ShippingBody } from "./body.ts";
import { DestinationPart, type Entered, type Origin, readEntered, soFar } from "./destination.tsx";
import type { Fields } from "./fields.ts";
import { filterDo } from "./filter-read.ts";
import { Group, JobOptions, readOptions } from "./options.tsx";
import { type Challenged, challenge, Ownership } from "./ownership.tsx";
import { PreviewPanel, type PreviewView } from "./preview-panel.tsx";
import { isOfStore, mendOf, placedFault, type Tested, testOf, WhatTestDoes } from "./test-write.tsx";
import { mayBe } from "./text.ts";

/** What the form begins with. */
export interface JobOrigin extends Origin {
  body: ShippingBody;
  fields: Fields;
  /** Of a new job: it may start at or after this minute; null: no earlier than now. */
  keptSince?: string | null;
}

/** What the form holds. */
export interface Filled {
  body: ShippingBody;
  entered: Entered;
}

/** What the page says beside that. */
export interface Said {
  status?: number;
  faults?: readonly ErrorEntry[];
  /** Over the faults; by default, that nothing is stored. */
  title?: string;
  tested?: Tested;
  /** Why a button of the challenge failed. */
  unproved?: Challenged["fault"] | undefined;
  preview?: PreviewView;
  notes?: readonly Message[];
  /** A button of the filter was pressed. */
  isBuilding?: boolean;
}

/**
 * Reads the form, and does what its button asks for. @returns `said` null: the job is to be saved.
 */
export async function pressed(
  page: PageContext,
  form: URLSearchParams,
  origin: JobOrigin,
): Promise<Filled & { said: Said | null }> {
  const { body: shipping, again } = readOptions(form, origin.body);
  const name = form.get("name");
  const named = name === null || mayBe(name, shipping.name ?? "", false) ? shipping : { ...shipping, name };
  const since = (form.get("since") ?? "").trim().slice(0, 80).toWellFormed();
  const body = since === "" ? named : { ...named, since };
  const entered = readEntered(page, form, origin);
  const { conf } = entered;
  const what = form.get(DO_FIELD) ?? "";
  if (what === "save") return { body, entered, said: null };
  if (again) return { body, entered: soFar(entered), said: { isBuilding: true } };
  if (what === "preview") return { body, entered: soFar(entered), said: await previewOf(page, body, conf) };
  if (!/^(?:test|mend|own:)/.test(what)) return { body, entered: soFar(entered), said: {} };
  if (conf === null)
    return {
      body,
      entered,
      said: { status: 400, title: "Not tested", faults: Object.values(entered.faults).map(faultOf) },
    };
  if (!what.startsWith("own:")) return { body, entered, said: { tested: await testOf(page, conf) } };
  const { proof, fault } = await challenge(page, what, conf, entered.proof);
  return { body, entered: { ...entered, proof }, said: { status: fault === undefined ? 200 : 400, unproved: fault } };
}

/** Runs the job on recent events. Nothing is stored. */
async function previewOf({ api }: PageContext, body: ShippingBody, conf: string | null): Promise<Said> {
  const { filter, output_options, logpull_options } = body;
  const destination_conf = conf === null ? null : maskDestination(conf);
  const asked = { filter, output_options, logpull_options, destination_conf };
  const answer = await api.send<PreviewView>("POST", "/logship/preview", asked);
  if (answer.ok) return { preview: answer.result, notes: answer.messages };
  return { status: answer.status, title: "No preview", faults: answer.errors };
}

/** What the API refused, each fault beside the field that it concerns. */
export function refused(
  { body, entered }: Filled,
  { status, errors }: { status: number; errors: readonly ErrorEntry[] },
): Filled & { said: Said } {
  const others = errors.filter(({ source }) => !source?.pointer.startsWith("/destination_conf"));
  const ofDestination = errors.filter((entry) => !others.includes(entry));
  if (entered.conf === null)
    return { body, entered, said: { status, faults: [...Object.values(entered.faults).map(faultOf), ...others] } };
  const isUnproved = errors.some(({ code }) => code === CODE.wrongChallenge);
  const proof = isUnproved ? { ...entered.proof, token: null } : entered.proof;
  const said = { status, faults: errors };
  const [first] = ofDestination;
  if (first === undefined) return { body, entered: { ...entered, proof }, said };
  const message = inShort(first.message).replace(/^error validating destination: /, "");
  const faults = placedFault(entered.whole, message);
  const isElsewhere = isOfStore(message) && (faults.whole !== undefined || mendOf(entered.entry, message) !== null);
  return {
    body,
    entered: { ...entered, proof, faults: isElsewhere && faults.whole !== undefined ? {} : faults },
    said: { ...said, ...(isElsewhere && { tested: { ok: false, message, remarks: [], shared: false } }) },
  };
}

/**
 * The form, and the preview behind it.
 * @param action of the form. @param carried more of what it carries.
 * @param failure the title over what was refused. @param save the label of the last button.
 */
export const JobForm: FC<{
  page: PageContext;
  origin: JobOrigin;
  filled: Filled;
  said: Said;
  action: string;
  carried?: Child;
  isNew: boolean;
  failure: string;
  save: string;
  cancel: string;
}> = ({ page, origin, filled: { body, entered }, said, action, carried, isNew, failure, save, cancel }) => {
  const { viewer, config } = page;
  const { faults = [], tested, unproved, preview, notes = [], isBuilding = false } = said;
  const { terms: ofForm } = requireForm(entered.whole);
  const terms = (entered.conf === null ? null : termsOfConf(entered.conf, config.destinations)) ?? ofForm;
  const error = faults.find(({ code }) => code === CODE.wrongChallenge)?.message;
  const { challenge: written, token } = entered.proof;
  const isRequired = config.requireOwnershipChallenge;
  return (
    <>
      {faults.length > 0 && (
        <Errors
          title={said.title ?? failure}
          errors={faults.map((fault) => ({ ...fault, message: inShort(fault.message) }))}
          placeOf={(pointer) => PLACES.find(([place]) => pointer.startsWith(place))?.[1] ?? null}
        />
      )}
      <Form viewer={viewer} action={action} label={isNew ? "Create a job" : "Edit the job"} class="job">
        <Default isFiltered={Boolean(body.filter)} save={save} />
        {carried}
        <Panel id="destination" title="Job">
          <Field
            name="name"
            label="Name"
            hint="Without a name, the job is shown by its number."
            value={body.name ?? ""}
            maxlength={512}
            error={faultAt(faults, "/name")}
          />
          <DestinationPart
            page={page}
            origin={origin}
            entered={entered}
            tested={tested}
            isNew={isNew && page.request.method === "GET"}
          />
        </Panel>
        <Panel id="options" title="Options">
          {!may(viewer, "logs:read") && <p class="quiet">The list of fields and the preview need logs:read.</p>}
          <JobOptions body={body} fields={origin.fields} faults={faults} terms={terms} isBuilding={isBuilding} />
          {origin.keptSince != null && (
            <Group
              id="start"
              title="Start"
              said={body.since === undefined ? "Now" : "In the past"}
              open={body.since !== undefined}
            >
              <Field
                name="since"
                label="Starts at (UTC)"
                value={body.since ?? ""}
                placeholder={origin.keptSince}
                spellcheck={false}
                autocomplete="off"
                error={faultAt(faults, "/since")}
                hint={`Empty: now. The log keeps everything that arrived since ${origin.keptSince} UTC, and the job can ship it, too.`}
              />
            </Group>
          )}
          {terms.isReadable && (
            <Group
              id="ownership"
              title="Proof of ownership"
              said={`${isRequired ? "Required" : "Not required"} by this deployment`}
              open={isRequired || unproved !== undefined || error !== undefined || written !== null || token !== null}
            >
              <Ownership proof={entered.proof} fault={unproved} error={error} />
            </Group>
          )}
        </Panel>
        <p class="quiet">
          <WhatTestDoes entry={entered.whole} /> {isNew ? "Creating a job" : "Saving a new destination"} tests it first.
        </p>
        <div class="actions save">
          <Button class="primary" name={DO_FIELD} value="save" label={save} />
          {may(viewer, "logs:read") && <Button name={DO_FIELD} value="preview" formaction="#preview" label="Preview" />}
          <Button name={DO_FIELD} value="test" formaction="#destination" label="Test the destination" />
          <a href={cancel}>Cancel</a>
        </div>
      </Form>
      {preview !== undefined && <PreviewPanel preview={preview} body={body} notes={notes} />}
    </>
  );
};

/** Where a fault can be corrected, by its pointer. */
const PLACES = [
  ["/destination_conf", "#destination"],
  ["/name", "#destination"],
  ["/since", "#start"],
  ["/filter", "#which"],
  ["/output_options/sample_rate", "#sample"],
  ["/output_options", "#format"],
  ...NUMBER_NAMES.map((name) => [`/${name}`, "#limits"] as const),
] as const;

/**
 * Enter in a field presses the first button of a form: it saves, unless a filter is being built.
 */
const Default: FC<{ isFiltered: boolean; save: string }> = ({ isFiltered, save }) =>
  isFiltered ? (
    <Button
      class="unseen"
      name={DO_FIELD}
      value={filterDo("show")}
      formaction="#which"
      tabindex={-1}
      label="Update the form"
    />
  ) : (
    <Button class="unseen" name={DO_FIELD} value="save" tabindex={-1} label={save} />
  );
