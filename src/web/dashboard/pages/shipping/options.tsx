import type { FC, PropsWithChildren } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import type { Terms } from "../../../../ship/destinations/destination.ts";
import { isOn, NUMBER_NAMES, SWITCH_NAMES, SWITCHES } from "../../../../ship/job/fields.ts";
import { Check, Field } from "../../parts/form.tsx";
import { fieldsWords, limitsWords, outputWords } from "../job/job-text.ts";
import { type FormRead, faultAt, type Options, optionsOf, type ShippingBody, withOptions } from "./body.ts";
import type { Fields } from "./fields.ts";
import { FieldsForm, readFields } from "./fields-form.tsx";
import { FilterForm } from "./filter-form.tsx";
import { FILTER_WAS, readFilter } from "./filter-read.ts";
import { FormatFields, hasFormat, LimitFields, LogpullNotice, readFormat, readLimits } from "./output-form.tsx";

const RATE = "sample-rate";

/** A group of options, open where it differs from the default or has a fault. */
export const Group: FC<PropsWithChildren<{ id: string; title: string; said: string; open: boolean }>> = ({
  id,
  title,
  said,
  open,
  children,
}) => (
  <details class="option" id={id} open={open}>
    <summary>
      <strong>{title}</strong> <span class="quiet">{said}</span>
    </summary>
    {children}
  </details>
);

/**
 * All that a job may have beside its name and destination: the controls only. What the destination
 * does not take is not offered, unless the job has it.
 * @param terms of the destination; null: unknown. @param isBuilding a button of the filter was
 *   pressed.
 */
export const JobOptions: FC<{
  body: ShippingBody;
  fields: Fields;
  faults: readonly ErrorEntry[];
  terms: Terms | null;
  isBuilding?: boolean;
}> = ({ body, fields, faults, terms, isBuilding = false }) => {
  const options = optionsOf(body);
  const rate = options.sample_rate;
  // What the job has is shown, so that it can be taken away.
  const boxes = SWITCH_NAMES.filter(
    (name) => terms?.isReadable !== false || (isOn(body, name) && !SWITCHES[name].fallback),
  );
  const has = (...pointers: string[]): boolean => pointers.some((pointer) => faultAt(faults, pointer) !== undefined);
  const ofFormat = faults.some(
    ({ source }) =>
      source?.pointer.startsWith("/output_options") === true && source.pointer !== "/output_options/sample_rate",
  );
  return (
    <>
      <LogpullNotice body={body} />
      <Group
        id="which"
        title="Filter"
        said={body.filter ? "Events that match the filter" : "Every event"}
        open={Boolean(body.filter) || isBuilding || has("/filter")}
      >
        <FilterForm filter={body.filter ?? ""} fields={fields} faults={faults} />
      </Group>
      <Group
        id="sample"
        title="Sample"
        said={sentence(rateWords(rate))}
        open={(rate ?? 1) !== 1 || has("/output_options/sample_rate")}
      >
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
          hint="0.1 keeps one in ten of the records that match the filter; 1 (default) keeps all. The job counts the rest as sampled out, and never ships them."
        />
      </Group>
      <Group
        id="format"
        title="Fields and format"
        said={`${sentence(fieldsWords(options))}, ${outputWords(body)}`}
        open={ofFormat || (options.field_names ?? []).length > 0 || hasFormat(options)}
      >
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
        <FormatFields body={body} faults={faults} terms={terms} />
      </Group>
      <Group
        id="limits"
        title="Objects"
        said={`After ${limitsWords(body, terms?.limits)}`}
        open={NUMBER_NAMES.some((key) => Boolean(body[key]) || has(`/${key}`))}
      >
        <LimitFields body={body} faults={faults} terms={terms} />
      </Group>
      {boxes.length > 0 && (
        <Group
          id="checks"
          title="Search and canary"
          said={sentence(SWITCH_NAMES.map((name) => SWITCHES[name].words[isOn(body, name) ? 0 : 1]).join(", "))}
          open={boxes.some((name) => isOn(body, name) !== SWITCHES[name].fallback || has(`/${name}`))}
        >
          {boxes.map((name) => (
            <>
              {SWITCHES[name].fallback && <input type="hidden" name={`${name}-was`} value="1" />}
              <Check
                name={name}
                label={SWITCHES[name].label}
                checked={isOn(body, name)}
                hint={faultAt(faults, `/${name}`) ?? SWITCHES[name].hint}
              />
            </>
          ))}
        </Group>
      )}
      <Group id="state" title="State" said={body.enabled === true ? "Enabled" : "Paused"} open={body.enabled !== true}>
        <Check
          name="enabled"
          label="Enabled"
          checked={body.enabled === true}
          hint="Events that arrive while a job is paused are not shipped. It still delivers what it has."
        />
      </Group>
    </>
  );
};

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** A sampling rate in words. */
export function rateWords(rate: Options["sample_rate"]): string {
  if (rate == null || rate === 1) return "every record is kept";
  if (typeof rate !== "number" || !(rate > 0 && rate < 1)) return "this is not a share";
  const of = 1 / rate;
  const words = of.toLocaleString("en", { maximumFractionDigits: of < 10 ? 1 : 0 });
  return Math.abs(of - Math.round(of)) < 1e-9 * of ? `one of ${words} is kept` : `about one of ${words} is kept`;
}

/**
 * Reads {@link JobOptions}. Untouched fields keep their value, and unset ones stay unset; another
 * form changes nothing.
 */
export function readOptions(form: URLSearchParams, before: ShippingBody): FormRead {
  if (!form.has(FILTER_WAS)) return { body: before, again: false };
  const { filter, again } = readFilter(form, before);
  const options = readFormat(form, readRate(form, readFields(form, optionsOf(before))));
  const body = { ...withOptions(before, options) };
  if (filter !== (before.filter ?? "")) body.filter = filter;
  if (form.has("enabled") !== (before.enabled === true)) body.enabled = form.has("enabled");
  for (const name of SWITCH_NAMES) {
    const wasShown = !SWITCHES[name].fallback || form.has(`${name}-was`);
    if (wasShown && form.has(name) !== isOn(before, name)) body[name] = form.has(name);
  }
  return { body: readLimits(form, body), again };
}

function readRate(form: URLSearchParams, options: Options): Options {
  const sent = form.get(RATE)?.trim() ?? "";
  const { sample_rate: before, ...others } = options;
  if (sent === (before == null ? "" : String(before))) return options;
  if (sent === "") return others;
  const rate = Number(sent);
  return { ...options, sample_rate: Number.isNaN(rate) ? sent : rate };
}
