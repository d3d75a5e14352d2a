import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { Errors } from "../../parts/failure.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Form } from "../../parts/form.tsx";
import { Notice, Panel, Table } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { JobView } from "../../views/job.ts";
import { DO_FIELD, inShort, type ShippingBody } from "./body.ts";
import { DestinationForm } from "./destination-form.tsx";
import type { DestinationAsked } from "./destination-read.ts";
import { OutputForm } from "./output-form.tsx";
import { RecordsForm } from "./records-form.tsx";

/** What tells whether the job is still the one that the form was made of. */
export const BASE_FIELD = "base";

/** All of a job that can be changed, and one button that saves what is different. */
export const EditForm: FC<{
  viewer: Viewer;
  job: JobView;
  base: string;
  fields: Readonly<Record<string, string>>;
  body: ShippingBody;
  destination: DestinationAsked | null;
  faults: readonly ErrorEntry[];
}> = ({ viewer, job, base, fields, body, destination, faults }) => (
  <Form viewer={viewer} action={`/jobs/${job.id}/edit`} label="Edit the job">
    <input type="hidden" name={BASE_FIELD} value={base} />
    <Panel id="records" title="Records">
      <p class="quiet">
        A change is in force for every event that is accepted after it was saved, and for those of the last seconds that
        are still in the queue.
      </p>
      <RecordsForm body={body} fields={fields} faults={faults} viewer={viewer} />
    </Panel>
    <Panel id="output" title="Output">
      <OutputForm body={body} faults={faults} viewer={viewer} />
    </Panel>
    <Panel id="destination" title="Destination">
      <p class="quiet">
        Another destination is tried before it is saved: a small test object is written there, and if that fails nothing
        changes. It applies to everything that is not delivered yet; what has been delivered stays where it is.
      </p>
      <DestinationForm masked={job.destination_conf} asked={destination} faults={faults} />
    </Panel>
    <div class="actions save">
      <button type="submit" class="primary" name={DO_FIELD} value="save">
        Save
      </button>
      <button type="submit" name={DO_FIELD} value="preview" formaction="#preview">
        Preview
      </button>
      <a href={`/jobs/${job.id}`}>Leave without saving</a>
    </div>
  </Form>
);

/** Everything that is wrong, in one place; what belongs to a field stands beside it as well. */
export const Refused: FC<{ faults: readonly ErrorEntry[] }> = ({ faults }) => (
  <Errors
    title="Nothing was changed: this was refused"
    errors={faults.map((fault) => ({ ...fault, message: inShort(fault.message) }))}
    placeOf={(pointer) => (/^\/(?:destination_conf|ownership_challenge)/.test(pointer) ? "#destination" : null)}
  />
);

/** Somebody else was faster: what is stored now, beside what the form would make of it. */
export const Conflict: FC<{
  job: JobView;
  changes: Partial<Record<keyof ShippingBody, unknown>>;
  destination: boolean;
}> = ({ job, changes, destination }) => {
  const rows = Object.entries(changes).map(([key, value]) => [
    <code>{key}</code>,
    <Value value={job[key]} />,
    <Value value={value} />,
  ]);
  const moved = [
    <code>destination_conf</code>,
    <Foreign text={job.destination_conf} max={500} />,
    "as in the form below",
  ];
  const all = destination ? [...rows, moved] : rows;
  return (
    <>
      <Notice kind="warn" title="Nothing was changed: somebody else changed this job meanwhile">
        <p>
          {all.length === 0
            ? "The form below says what is stored now."
            : "This is where the form below and what is stored now differ. Saving it again makes the job what the form says."}{" "}
          <a href={`/jobs/${job.id}/edit`}>Start again from what is stored now</a>
        </p>
      </Notice>
      {all.length > 0 && (
        <Panel id="differences" title="What differs">
          <Table
            caption="What is stored now, and what the form says"
            columns={[{ label: "Key" }, { label: "Stored now" }, { label: "In the form" }]}
            rows={all}
          />
        </Panel>
      )}
    </>
  );
};

const Value: FC<{ value: unknown }> = ({ value }) =>
  value === undefined || value === null || value === "" ? (
    <span class="quiet">nothing</span>
  ) : (
    <code>
      <Foreign text={typeof value === "string" ? value : JSON.stringify(value)} max={2_000} />
    </code>
  );
