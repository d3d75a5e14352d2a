import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { FIELD_DESCRIPTIONS } from "../../../../formats/record/fields.ts";
import { visible } from "../../parts/foreign.tsx";
import { Button, Form } from "../../parts/form.tsx";
import type { Viewer } from "../../session.ts";
import { FilterForm } from "../shipping/filter-form.tsx";
import type { Conditions } from "./recent.ts";

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
  conditions: Conditions;
  faults: readonly ErrorEntry[];
  jobs: readonly JobFilter[];
  /** A button of the builder was pressed. */
  isBuilding: boolean;
}> = ({ viewer, conditions: { filter, script, text, isErrorsOnly }, faults, jobs, isBuilding }) => (
  <Form viewer={viewer} action="/live" label="Conditions" class="live-form">
    <noscript>
      <input type="hidden" name="list" value="1" />
    </noscript>
    <div class="live-bar">
      <label>
        Text
        <input id="live-text" name="text" type="search" value={visible(text)} spellcheck={false} autocomplete="off" />
      </label>
      <label>
        Worker
        <input id="live-script" name="script" value={visible(script)} spellcheck={false} autocomplete="off" />
      </label>
      <label class="live-check">
        <input id="live-errors" type="checkbox" name="errors" value="1" checked={isErrorsOnly} />
        Errors only
      </label>
      <Button class="primary" label="Apply" />
      <span id="live-tools" hidden>
        <Button type="button" id="live-pause" aria-keyshortcuts="Space" label="Pause" />{" "}
        <Button type="button" id="live-clear" label="Clear list" />
      </span>
    </div>
    <details class="live-what" id="live-what" open={isBuilding || faults.length > 0}>
      <summary>
        Conditions <span class="quiet" id="live-wanted" />
      </summary>
      <div id="live-builder">
        <FilterForm
          filter={filter}
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
    <p id="live-faults" class="error" role="alert" />
  </Form>
);
