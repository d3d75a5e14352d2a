import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { TEXT_MAX_CHARACTERS } from "../../../../base/limits.ts";
import { count } from "../../../../base/words.ts";
import type { Terms } from "../../../../ship/destinations/destination.ts";
import {
  NUMBER_NAMES,
  NUMBERS,
  type NumberName,
  TEXT_NAMES,
  TEXTS,
  type TextName,
} from "../../../../ship/job/fields.ts";
import { withDefaults } from "../../../../ship/job/output-rules.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Check, Field, Select } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import { faultAt, type Options, optionsOf, type ShippingBody } from "./body.ts";
import { escaped, lines, mayBe, unescaped } from "./text.ts";

/** The box of `truncate`, which it turns around. */
const WHOLE = "whole-texts";

interface Props {
  body: ShippingBody;
  faults: readonly ErrorEntry[];
  /** Of the destination; null: unknown. */
  terms: Terms | null;
}

/** The format of records: the controls only. */
export const FormatFields: FC<Props> = ({ body, faults, terms }) => {
  const options = optionsOf(body);
  const isPlain = terms?.plainRecords === true && !hasTexts(options) && (options.output_type ?? "ndjson") === "ndjson";
  return (
    <>
      <fieldset>
        <legend>Format</legend>
        <input type="hidden" name="output-was" value={options.output_type ?? "ndjson"} />
        {isPlain ? (
          <p class="quiet">
            The destination takes only NDJSON records: no CSV, Parquet, template, prefix or delimiter.
          </p>
        ) : (
          <Select
            name="output_type"
            label="Output type"
            value={options.output_type ?? "ndjson"}
            options={[
              { value: "ndjson", label: "NDJSON" },
              { value: "csv", label: "CSV" },
              ...(terms?.isReadable === false && options.output_type !== "parquet"
                ? []
                : [{ value: "parquet", label: "Parquet: typed columns" }]),
            ]}
            hint="A change applies to new records. Formats never mix within an object. Parquet is for stores, and takes none of the texts below."
            error={faultAt(faults, "/output_options/output_type")}
          />
        )}
        {(terms?.isReadable !== false || options.rows === "log") && (
          <Select
            name="rows"
            label="One record for each"
            value={options.rows ?? "invocation"}
            options={[
              { value: "invocation", label: "Invocation" },
              { value: "log", label: "Log line and exception" },
            ]}
            hint="With log lines, a job does not ship invocations without any. Limits and counts are of invocations."
            error={faultAt(faults, "/output_options/rows")}
          />
        )}
        <Check
          name={WHOLE}
          label="Whole texts"
          checked={options.truncate === false}
          hint={
            faultAt(faults, "/output_options/truncate") ??
            `Logs and exceptions are not cut to ${count(TEXT_MAX_CHARACTERS)} characters a record.`
          }
        />
        <Check
          name="CVE-2021-44228"
          label="Write ${ as x{"
          checked={options["CVE-2021-44228"] === true}
          hint="Disarms Log4j lookups in request data (CVE-2021-44228)."
        />
        {(!isPlain || options.escape_formulas === true) && (
          <Check
            name="escape_formulas"
            label="Escape formulas in CSV"
            checked={options.escape_formulas === true}
            hint={faultAt(faults, "/output_options/escape_formulas") ?? "Texts such as =1+1 get a ' before them."}
          />
        )}
      </fieldset>
      {!isPlain && <More options={options} faults={faults} />}
      <Kept body={body} options={options} />
    </>
  );
};

/** What cuts an object: the controls only. */
export const LimitFields: FC<Props> = ({ body, faults, terms }) => (
  <>
    {NUMBER_NAMES.map((key) => {
      const { label, bounds, hint } = NUMBERS[key];
      const most = mostOf(key, terms);
      const fallback = Math.min(bounds.fallback, most);
      // The destination may take less in one request than a job may ask for.
      const taken = most === Infinity ? "" : ` The destination takes ${count(most)} at most.`;
      return (
        <Field
          name={key}
          label={label}
          type="number"
          min={0}
          max={bounds.max}
          value={body[key] ? `${body[key]}` : ""}
          placeholder={String(fallback)}
          error={faultAt(faults, `/${key}`)}
          hint={`${hint}${count(bounds.min)} to ${count(bounds.max)}; default ${count(fallback)}.${taken}`}
        />
      );
    })}
  </>
);

function mostOf(key: NumberName, terms: Terms | null): number {
  const { most } = NUMBERS[key];
  return most === null ? Infinity : (terms?.limits?.[most] ?? Infinity);
}

function hasTexts(options: Options): boolean {
  return [...TEXT_NAMES, "record_template" as const].some((option) => options[option] != null);
}

/** Whether the format differs from the default. */
export function hasFormat(options: Options): boolean {
  const { output_type, rows, truncate } = options;
  const isOther = (output_type ?? "ndjson") !== "ndjson" || rows === "log" || truncate === false;
  return hasTexts(options) || isOther || options["CVE-2021-44228"] === true || options.escape_formulas === true;
}

/** Says that the older `logpull_options` are in force. */
export const LogpullNotice: FC<{ body: ShippingBody }> = ({ body }) =>
  body.output_options != null || !body.logpull_options ? null : (
    <Notice kind="info" title="This job uses logpull_options">
      <p>
        <Foreign as="code" text={body.logpull_options} /> Any change to fields, sample or format here converts them to{" "}
        <code>output_options</code>.
      </p>
    </Notice>
  );

const More: FC<{ options: Options; faults: readonly ErrorEntry[] }> = ({ options, faults }) => {
  const type = options.output_type ?? "ndjson";
  const told = (option: string) => faultAt(faults, `/output_options/${option}`);
  const whole = faults.some(({ source }) => source?.pointer === "/output_options");
  const names = [...TEXT_NAMES, "record_template"] as const;
  const isOpen = whole || hasTexts(options) || names.some((option) => told(option) !== undefined);
  return (
    <details open={isOpen}>
      <summary>Advanced: prefixes, suffixes, delimiters, template</summary>
      <p class="hint">
        Escapes: <code>\n</code>, <code>\t</code>, <code>\r</code>, <code>\u0000</code>, <code>\\</code>. An untouched
        field keeps the default of its output type.
      </p>
      {TEXT_NAMES.map((name) => (
        <Field
          name={name}
          label={TEXTS[name].label}
          value={shownText(options, name, type)}
          error={told(name)}
          hint={<code>{name}</code>}
          spellcheck={false}
        />
      ))}
      <Field
        name="record_template"
        label="Record template"
        rows={3}
        value={options.record_template ?? ""}
        error={told("record_template")}
        spellcheck={false}
        hint={
          <>
            Replaces the joined fields: <code>{"{{ .Outcome }}"}</code>, <code>{'{{ "text" }}'}</code>,{" "}
            <code>{"{{/* comment */}}"}</code>. Fields that are not shipped become <code>null</code>.
          </>
        }
      />
    </details>
  );
};

/** Values that the forms keep but do not show. */
const Kept: FC<{ body: ShippingBody; options: Options }> = ({ body, options }) => {
  const kept = [
    ["frequency", body.frequency],
    ["logpull_options", body.logpull_options],
    ["merge_subrequests", options.merge_subrequests],
    ["timestamp_format", options.timestamp_format],
  ] as const;
  const there = kept.filter(([, value]) => value != null && value !== "");
  if (there.length === 0) return null;
  return (
    <p class="quiet">
      Also set:{" "}
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

/** A text as its field shows it; an unset one shows the default of the output type. */
function shownText(options: Options, name: TextName, type: string): string {
  const defaults = withDefaults({ output_type: type === "csv" ? "csv" : "ndjson" });
  return escaped(options[name] ?? (type === "parquet" ? "" : defaults[TEXTS[name].of]));
}

/** The body with the limits of the form. */
export function readLimits(form: URLSearchParams, before: ShippingBody): ShippingBody {
  const body = { ...before };
  for (const key of NUMBER_NAMES) {
    const sent = form.get(key)?.trim() ?? "";
    const limit = sent === "" ? 0 : Number.isNaN(Number(sent)) ? sent : Number(sent);
    if (limit !== (before[key] || 0)) body[key] = limit;
  }
  return body;
}

/** Options with the format of the form. */
export function readFormat(form: URLSearchParams, before: Options): Options {
  if (!form.has("output-was")) return before;
  const options: Options = { ...before };
  // A browser sends one of the options it was offered; the API refuses anything else.
  const type = (form.get("output_type") ?? "ndjson") as "ndjson";
  if (type !== (before.output_type ?? "ndjson")) options.output_type = type;
  const rows = (form.get("rows") ?? before.rows ?? "invocation") as "invocation";
  if (rows !== (before.rows ?? "invocation")) options.rows = rows;
  const isWhole = form.has(WHOLE);
  if (isWhole !== (before.truncate === false)) options.truncate = !isWhole;
  for (const name of ["CVE-2021-44228", "escape_formulas"] as const)
    if (form.has(name) !== (before[name] === true)) options[name] = form.has(name);
  for (const name of TEXT_NAMES) {
    // The form showed the defaults of the type it was made with, whichever type is chosen now.
    const sent = form.get(name);
    const was = before[name];
    const shown = was == null ? shownText({}, name, form.get("output-was") ?? "ndjson") : escaped(was);
    if (sent !== null && sent !== shown) options[name] = unescaped(sent);
  }
  const template = form.get("record_template");
  if (template !== null && !mayBe(template, before.record_template ?? "", true))
    options.record_template = lines(template);
  return options;
}
