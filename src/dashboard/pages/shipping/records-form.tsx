import type { FC } from "hono/jsx";
import type { Terms } from "../../../destinations/destination.ts";
import type { ErrorEntry } from "../../../errors.ts";
import { DATASETS } from "../../../record/fields.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import { DO_FIELD, type FormRead, faultAt, type Options, optionsOf, type ShippingBody, withOptions } from "./body.ts";
import { FieldsForm, readFields } from "./fields-form.tsx";
import { FilterForm } from "./filter-form.tsx";
import { FILTER_WAS, filterDo, readFilter } from "./filter-read.ts";

const RATE = "sample-rate";

/**
 * Which records are shipped: the controls only. The form around them is sent to the page's own
 * address, so that the builder's buttons lead back to it. Its first button is here: Enter in a
 * field presses the first button of a form.
 */
export const RecordsForm: FC<{
  body: ShippingBody;
  fields: Readonly<Record<string, string>>;
  faults: readonly ErrorEntry[];
  /** Of its destination; null: unknown. */
  terms: Terms | null;
}> = ({ body, fields, faults, terms }) => {
  const rate = optionsOf(body).sample_rate;
  return (
    <>
      <button type="submit" class="unseen" name={DO_FIELD} value={filterDo("show")} formaction="#filter" tabindex={-1}>
        Update the form
      </button>
      <p>
        Dataset: <code>{body.dataset ?? DATASETS[0]}</code>, one record per function call.
      </p>
      <LogpullNotice body={body} />
      {terms !== null && terms.fields.length > 0 && (
        <p class="quiet">
          The destination needs{" "}
          {terms.fields.map((name, i) => (
            <>
              {i > 0 && ", "}
              <code>{name}</code>
            </>
          ))}
          : if you choose fields, choose it too.
        </p>
      )}
      <FieldsForm body={body} fields={fields} faults={faults} />
      <FilterForm filter={body.filter ?? ""} fields={fields} faults={faults} />
      <fieldset>
        <legend>Sample</legend>
        <Field
          name={RATE}
          label="Share of records to keep"
          type="number"
          min={0}
          max={1}
          step="any"
          value={rate == null ? "" : String(rate)}
          placeholder="1"
          error={faultAt(faults, "/output_options/sample_rate")}
          hint={`Above 0, up to 1 (default), of the records that match the filter. Now: ${rateWords(rate)}. The rest is counted as sampled out and lost.`}
        />
      </fieldset>
    </>
  );
};

/** Says that the older `logpull_options` are in force. */
export const LogpullNotice: FC<{ body: ShippingBody }> = ({ body }) =>
  body.output_options != null || !body.logpull_options ? null : (
    <Notice kind="info" title="This job uses logpull_options">
      <p>
        <code>
          <Foreign text={body.logpull_options} />
        </code>{" "}
        Any change to fields, sample or output here converts them to <code>output_options</code>.
      </p>
    </Notice>
  );

/** A sampling rate in words. */
export function rateWords(rate: Options["sample_rate"]): string {
  if (rate == null || rate === 1) return "every record is kept";
  if (typeof rate !== "number" || !(rate > 0 && rate < 1)) return "this is no share";
  const of = 1 / rate;
  const words = of.toLocaleString("en", { maximumFractionDigits: of < 10 ? 1 : 0 });
  return Math.abs(of - Math.round(of)) < 1e-9 * of ? `one of ${words} is kept` : `about one of ${words} is kept`;
}

/** Reads {@link RecordsForm}. Untouched fields keep their value, and unset ones stay unset. */
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
