import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { DATASETS } from "../../../record/fields.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import { DO_FIELD, type FormRead, faultAt, type Options, optionsOf, type ShippingBody, withOptions } from "./body.ts";
import { FieldsForm, readFields } from "./fields-form.tsx";
import { FilterForm } from "./filter-form.tsx";
import { FILTER_WAS, filterDo, readFilter } from "./filter-read.ts";

const RATE = "sample-rate";

/**
 * What is shipped: the controls alone. The form around them is sent to the page's own address, so that the builder's buttons lead back to where they are; its
 * first button is here, as Enter in a field presses the first of a form.
 */
export const RecordsForm: FC<{
  body: ShippingBody;
  /** Names of the dataset's fields, and what each says: `GET /datasets/{dataset}/fields`. */
  fields: Readonly<Record<string, string>>;
  faults: readonly ErrorEntry[];
  viewer: Viewer;
}> = ({ body, fields, faults }) => {
  const rate = optionsOf(body).sample_rate;
  return (
    <>
      <button type="submit" class="unseen" name={DO_FIELD} value={filterDo("show")} formaction="#filter" tabindex={-1}>
        Show the form again
      </button>
      <p>
        Dataset: <code>{body.dataset ?? DATASETS[0]}</code>, one record for each call of a function. There is no other
        one.
      </p>
      <LogpullNotice body={body} />
      <FieldsForm body={body} fields={fields} faults={faults} />
      <FilterForm filter={body.filter ?? ""} fields={fields} faults={faults} />
      <fieldset>
        <legend>Sample</legend>
        <Field
          name={RATE}
          label="Share of the records that is kept"
          type="number"
          min={0}
          max={1}
          step="any"
          value={rate == null ? "" : String(rate)}
          placeholder="1"
          error={faultAt(faults, "/output_options/sample_rate")}
          hint={
            <>
              Of those that fit the filter: above 0, at most 1; empty is 1, all of them. At present: {rateWords(rate)}.
              What is not kept is counted as sampled out, and cannot be had later.
            </>
          }
        />
      </fieldset>
    </>
  );
};

/** That the older spelling is in force, where it is. */
export const LogpullNotice: FC<{ body: ShippingBody }> = ({ body }) =>
  body.output_options != null || !body.logpull_options ? null : (
    <Notice kind="info" title="This job says how it ships by logpull_options">
      <p>
        <code>
          <Foreign text={body.logpull_options} />
        </code>{" "}
        They stay in force while nothing of the fields, the sample and the output is changed here. What is changed is
        written down as <code>output_options</code>, with all that they say, and these count from then on.
      </p>
    </Notice>
  );

/** A share in words. */
export function rateWords(rate: Options["sample_rate"]): string {
  if (rate == null || rate === 1) return "every record is kept";
  if (typeof rate !== "number" || !(rate > 0 && rate < 1)) return "this is no share";
  const of = 1 / rate;
  const words = of.toLocaleString("en", { maximumFractionDigits: of < 10 ? 1 : 0 });
  return Math.abs(of - Math.round(of)) < 1e-9 * of ? `one of ${words} is kept` : `about one of ${words} is kept`;
}

/** Reads what {@link RecordsForm} sent. What was not touched stays as it was, and what was never said stays unsaid. */
export function readRecordsForm(form: URLSearchParams, before: ShippingBody): FormRead {
  if (!form.has(FILTER_WAS)) return { body: before, again: false };
  const { filter, again } = readFilter(form, before);
  const body = withOptions(before, readRate(form, readFields(form, optionsOf(before))));
  return { body: filter === (before.filter ?? "") ? body : { ...body, filter }, again };
}

function readRate(form: URLSearchParams, options: Options): Options {
  const sent = form.get(RATE)?.trim() ?? "";
  const { sample_rate: before, ...others } = options;
  if (sent === (before == null ? "" : String(before))) return options;
  if (sent === "") return others;
  const rate = Number(sent);
  return { ...options, sample_rate: Number.isNaN(rate) ? sent : rate };
}
