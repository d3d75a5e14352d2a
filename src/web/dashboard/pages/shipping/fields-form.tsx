import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { isExtraField, ROW_DESCRIPTIONS } from "../../../../formats/record/fields.ts";
import { Foreign } from "../../parts/foreign.tsx";
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
  const names = [...new Set([...chosen, ...Object.keys(there)])];
  const error = faultAt(faults, "/output_options/field_names");
  return (
    <fieldset class="fields">
      <legend>Fields</legend>
      <Mode value="all" label="All fields" checked={chosen.length === 0} />
      <Mode value="some" label="Only these, in this order" checked={chosen.length > 0} />
      {error !== undefined && <p class="error">{error}</p>}
      <div class="picks">
        <p class="hint">
          Fields are written in the order of their numbers, unnumbered ones last. None ticked: all fields.
        </p>
        <ul>
          {names.map((name) => (
            <li>
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

const Mode: FC<{ value: string; label: string; checked: boolean }> = ({ value, label, checked }) => (
  <div class="check">
    <input type="radio" id={`${MODE}-${value}`} name={MODE} value={value} checked={checked} />
    <label for={`${MODE}-${value}`}>{label}</label>
  </div>
);

/** Options with the chosen fields. */
export function readFields(form: URLSearchParams, options: Options): Options {
  const before = options.field_names ?? [];
  const mode = form.get(MODE);
  if (mode !== "all" && mode !== "some") return options;
  const place = (name: string) => Number(form.get(placeField(name)) || Number.NaN);
  // Places that are not numbers come last, in the order sent: the sort is stable.
  const rank = (name: string) => (Number.isNaN(place(name)) ? Number.POSITIVE_INFINITY : place(name));
  const picked = mode === "all" ? [] : [...new Set(form.getAll(PICK))].map((name) => ({ name, rank: rank(name) }));
  const names = picked.sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank)).map(({ name }) => name);
  if (names.length === before.length && names.every((name, i) => name === before[i])) return options;
  if (names.length > 0) return { ...options, field_names: names };
  const { field_names: _all, ...others } = options;
  return others;
}
