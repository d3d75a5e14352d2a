import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { ALL_FIELDS, isExtraField, ROW_DESCRIPTIONS } from "../../../../formats/record/fields.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Radio } from "../../parts/form.tsx";
import { faultAt, type Options, optionsOf, type ShippingBody } from "./body.ts";

const MODE = "fields";
const PICK = "field";
const placeField = (name: string) => `place-${name}`;

/**
 * Which fields of a record are shipped, and in which order. The order is a number per field, so
 * that no script is needed.
 */
export const FieldsForm: FC<{
  body: ShippingBody;
  fields: Readonly<Record<string, string>>;
  faults: readonly ErrorEntry[];
}> = ({ body, fields, faults }) => {
  const { field_names, rows } = optionsOf(body);
  const chosen = field_names ?? [];
  const there = rows === "log" ? ofRows(fields) : fields;
  const names = [...new Set([...chosen, ...Object.keys(there)])].filter((name) => name !== ALL_FIELDS);
  const isAlso = chosen.includes(ALL_FIELDS);
  const error = faultAt(faults, "/output_options/field_names");
  return (
    <fieldset class="fields">
      <legend>Fields</legend>
      <Mode value="all" label="All fields" checked={chosen.length === 0} />
      {(isAlso || names.some(isExtraField)) && (
        <Mode value="also" label="All fields, and also these extra ones" checked={isAlso} />
      )}
      <Mode value="some" label="Only these, in this order" checked={chosen.length > 0 && !isAlso} />
      {error !== undefined && <p class="error">{error}</p>}
      <div class="picks">
        <p class="hint">
          Fields are written in the order of their numbers, unnumbered ones last. None ticked: all fields.
        </p>
        <ul>
          {names.map((name) => (
            <li class={isExtraField(name) || (isAlso && chosen.includes(name)) ? "extra" : undefined}>
              <input
                type="checkbox"
                id={`${PICK}-${name}`}
                name={PICK}
                value={name}
                checked={chosen.includes(name)}
                aria-describedby={`${PICK}-${name}-hint`}
              />
              <label for={`${PICK}-${name}`}>
                <Foreign text={name} />
              </label>
              <label class="unseen" for={placeField(name)}>
                Position of {name}
              </label>
              <input
                type="number"
                id={placeField(name)}
                name={placeField(name)}
                min={1}
                value={chosen.includes(name) ? `${chosen.indexOf(name) + 1}` : ""}
              />
              <p class="hint" id={`${PICK}-${name}-hint`}>
                <Foreign text={there[name] ?? ""} />
              </p>
            </li>
          ))}
        </ul>
      </div>
    </fieldset>
  );
};

/** What of the fields rows have, and their own, in the order in which they are written. */
function ofRows(fields: Readonly<Record<string, string>>): Record<string, string> {
  const all = Object.entries(fields);
  const shared = all.filter(([name]) => name !== "Logs" && name !== "Exceptions" && !isExtraField(name));
  const extra = all.filter(([name]) => isExtraField(name));
  return Object.fromEntries([...shared, ...Object.entries(ROW_DESCRIPTIONS), ...extra]);
}

const Mode: FC<{ value: string; label: string; checked: boolean }> = (mode) => (
  <Radio name={MODE} id={`${MODE}-${mode.value}`} {...mode} />
);

/** Options with the chosen fields. */
export function readFields(form: URLSearchParams, options: Options): Options {
  const before = options.field_names ?? [];
  const mode = form.get(MODE);
  if (mode !== "all" && mode !== "also" && mode !== "some") return options;
  // Of the fields that all of them are, one that is named has only another place.
  const isAdded = (name: string) => isExtraField(name) || (before.includes(ALL_FIELDS) && before.includes(name));
  const ticked = [...new Set(form.getAll(PICK))];
  const also = [ALL_FIELDS, ...ticked.filter(isAdded)];
  const place = (name: string) =>
    name === ALL_FIELDS ? before.indexOf(name) + 1 : Number(form.get(placeField(name)) || Number.NaN);
  // Places that are not numbers come last, in the order sent: the sort is stable.
  const rank = (name: string) => (Number.isNaN(place(name)) ? Number.POSITIVE_INFINITY : place(name));
  const asked = { all: [], also: also.length > 1 || before.includes(ALL_FIELDS) ? also : [], some: ticked }[mode];
  const picked = asked.map((name) => ({ name, rank: rank(name) }));
  const names = picked.sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank)).map(({ name }) => name);
  if (names.length === before.length && names.every((name, i) => name === before[i])) return options;
  if (names.length > 0) return { ...options, field_names: names };
  const { field_names: _all, ...others } = options;
  return others;
}
