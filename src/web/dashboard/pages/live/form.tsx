import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { readQuery } from "../../../../formats/query/meaning.ts";
import { quoted } from "../../../../formats/query/show.ts";
import { FIELD_DESCRIPTIONS } from "../../../../formats/record/fields.ts";
import { queryError } from "../../../api/search.ts";
import { visible } from "../../parts/foreign.tsx";
import { Button, Form } from "../../parts/form.tsx";
import type { Viewer } from "../../session.ts";
import { type Asked, livePath, searchPath } from "../search/address.ts";
import { QuestionFields, Refused } from "../search/question.tsx";
import { FilterForm } from "../shipping/filter-form.tsx";

export interface JobFilter {
  id: number;
  name: string;
  filter: string;
}

/** Of jobs with a filter, so many are offered. */
const JOBS_MAX = 200;

/**
 * The conditions of the live page. Without a script each button sends the form, and the page lists
 * what was found; the script sends it for the builder alone.
 */
export const ConditionsForm: FC<{
  viewer: Viewer;
  asked: Asked;
  /** Of its filter. */
  faults: readonly ErrorEntry[];
  jobs: readonly JobFilter[];
  /** A button of the builder was pressed. */
  isBuilding: boolean;
}> = ({ viewer, asked, faults, jobs, isBuilding }) => (
  <Form viewer={viewer} action="/live" label="Conditions" class="live-form">
    <noscript>
      <input type="hidden" name="list" value="1" />
    </noscript>
    <div class="live-bar">
      <QuestionFields asked={asked} />
      <Button class="primary" label="Apply" />
      <span id="live-tools" hidden>
        <Button type="button" id="live-pause" aria-keyshortcuts="Space" label="Pause" />{" "}
        <Button type="button" id="live-clear" label="Clear list" />
      </span>
      <a id="live-search" href={searchPath(asked)}>
        Search the last hour
      </a>
    </div>
    <details class="live-what" id="live-what" open={isBuilding || faults.length > 0}>
      <summary>
        Conditions <span class="quiet" id="live-wanted" />
      </summary>
      <div id="live-builder">
        <FilterForm
          filter={asked.filter}
          fields={FIELD_DESCRIPTIONS}
          faults={faults}
          hint="The list shows matching records, whether any job ships them or not."
          none="No conditions: the list shows every record."
        />
      </div>
      <div class="live-bar">
        <label>
          Filter of a job
          <select id="live-job" name="job" disabled={jobs.length === 0}>
            <option value="">{jobs.length === 0 ? "no job has a filter" : "as above"}</option>
            {jobs.slice(0, JOBS_MAX).map(({ id, name }) => (
              <option value={`${id}`}>{visible(name.slice(0, 100))}</option>
            ))}
          </select>
        </label>
        <button type="submit">Apply conditions</button>
      </div>
    </details>
    <div id="live-faults" class="error" role="alert">
      <FaultOf asked={asked} />
    </div>
  </Form>
);

/** What is wrong with its query. */
const FaultOf: FC<{ asked: Asked }> = ({ asked }) => {
  const read = readQuery(asked.q);
  if (read.ok) return null;
  const phrase = livePath({ ...asked, q: quoted(asked.q) });
  return <Refused title="The query was refused" errors={[queryError(read.fault)]} query={asked.q} phrase={phrase} />;
};
