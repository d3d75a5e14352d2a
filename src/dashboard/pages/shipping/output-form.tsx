import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { TIMESTAMP_FORMATS } from "../../../job/schema.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Check, Field, Select } from "../../parts/form.tsx";
import { count } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { faultAt, type Options, optionsOf, type ShippingBody } from "./body.ts";
import { LIMITS, shownText, TEXTS } from "./output-fields.ts";
import { LogpullNotice } from "./records-form.tsx";

/** How it is called, written and cut: the controls alone. */
export const OutputForm: FC<{ body: ShippingBody; faults: readonly ErrorEntry[]; viewer: Viewer }> = ({
  body,
  faults,
}) => {
  const options = optionsOf(body);
  return (
    <>
      <LogpullNotice body={body} />
      <Field
        name="name"
        label="Name"
        value={body.name ?? ""}
        maxlength={512}
        error={faultAt(faults, "/name")}
        hint="For people; it need not be unique."
      />
      <Check
        name="enabled"
        label="The job is on"
        checked={body.enabled === true}
        hint="A job that is off takes nothing new, and still delivers what it has taken."
      />
      <Check
        name="canary"
        label="Try the destination every hour"
        checked={body.canary === true}
        hint="Writes a synthetic event to the destination each hour and reads it back. No count includes it; it is one small object an hour."
      />
      <fieldset>
        <legend>Format</legend>
        <input type="hidden" name="output-was" value={options.output_type ?? "ndjson"} />
        <Select
          name="output_type"
          label="Output type"
          value={options.output_type ?? "ndjson"}
          options={[
            { value: "ndjson", label: "NDJSON: a JSON object in each line" },
            { value: "csv", label: "CSV: values in each line" },
          ]}
          hint="Records of two formats never share an object. What was taken before a change is written as it was to be."
          error={faultAt(faults, "/output_options/output_type")}
        />
        <Select
          name="timestamp_format"
          label="Timestamp format"
          value={options.timestamp_format ?? "unixnano"}
          options={TIMESTAMP_FORMATS.map((format) => ({ value: format, label: format }))}
          hint="It changes nothing here: every time of a trace event is in milliseconds, and its field's name says so."
          error={faultAt(faults, "/output_options/timestamp_format")}
        />
        <Check
          name="CVE-2021-44228"
          label="Write every ${ as x{"
          checked={options["CVE-2021-44228"] === true}
          hint="So that no log library expands what somebody put into a request (CVE-2021-44228)."
        />
      </fieldset>
      <fieldset>
        <legend>When an object is cut</legend>
        {LIMITS.map(({ key, label, bounds: { min, max, fallback }, what }) => (
          <Field
            name={key}
            label={label}
            type="number"
            min={0}
            max={max}
            value={body[key] ? `${body[key]}` : ""}
            placeholder={String(fallback)}
            error={faultAt(faults, `/${key}`)}
            hint={`${what} From ${count(min)} to ${count(max)}; empty or 0: ${count(fallback)}.`}
          />
        ))}
      </fieldset>
      <More options={options} faults={faults} />
      <Kept body={body} options={options} />
    </>
  );
};

const More: FC<{ options: Options; faults: readonly ErrorEntry[] }> = ({ options, faults }) => {
  const type = options.output_type ?? "ndjson";
  const told = (option: string) => faultAt(faults, `/output_options/${option}`);
  const whole = faults.some(({ source }) => source?.pointer === "/output_options");
  const names = [...TEXTS.map(({ option }) => option), "record_template"] as const;
  const isOpen = whole || names.some((option) => options[option] != null || told(option) !== undefined);
  return (
    <details open={isOpen}>
      <summary>More: prefixes, suffixes, delimiters, a template</summary>
      <p class="hint">
        Texts are written as they are: <code>\n</code> is a line break, <code>\t</code> a tab, <code>\r</code> a
        carriage return, <code>\u0000</code> the character of that code, and <code>\\</code> a backslash. A field that
        is left as it is keeps the default of its output type.
      </p>
      {TEXTS.map((text) => (
        <Field
          name={text.option}
          label={text.label}
          value={shownText(options, text, type)}
          error={told(text.option)}
          hint={<code>{text.option}</code>}
          spellcheck={false}
        />
      ))}
      <Field
        name="record_template"
        label="Template of a record"
        rows={3}
        value={options.record_template ?? ""}
        error={told("record_template")}
        spellcheck={false}
        hint={
          <>
            Written in place of the joined fields, between what stands before and after each record:{" "}
            <code>{"{{ .Outcome }}"}</code>, <code>{'{{ "text" }}'}</code>, <code>{"{{/* comment */}}"}</code>. Empty:
            none. A field that is not shipped is written as <code>null</code>.
          </>
        }
      />
    </details>
  );
};

/** What these forms do not show, so that nobody wonders what becomes of it. */
const Kept: FC<{ body: ShippingBody; options: Options }> = ({ body, options }) => {
  const kept = [
    ["frequency", body.frequency],
    ["logpull_options", body.logpull_options],
    ["merge_subrequests", options.merge_subrequests],
  ] as const;
  const there = kept.filter(([, value]) => value != null && value !== "");
  if (there.length === 0) return null;
  return (
    <p class="quiet">
      Kept as they are:{" "}
      {there.map(([name, value], i) => (
        <>
          {i > 0 && ", "}
          <code>
            {name} <Foreign text={`${value}`} max={200} />
          </code>
        </>
      ))}
    </p>
  );
};

export { readOutputForm } from "./output-read.ts";
