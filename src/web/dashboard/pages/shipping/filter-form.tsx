import type { FC } from "hono/jsx";
import type { ErrorEntry, Fault } from "../../../../base/errors.ts";
import { FILTER_MAX_BYTES } from "../../../../base/limits.ts";
import { plural } from "../../../../base/words.ts";
import { keysBelow, resolveKey } from "../../../../formats/filter/fields.ts";
import { OPERATORS, operatorsOn } from "../../../../formats/filter/operators.ts";
import { EXTRA_FIELDS, isExtraField } from "../../../../formats/record/fields.ts";
import { visible } from "../../parts/foreign.tsx";
import { DO_FIELD, Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import {
  FILTER_JSON,
  FILTER_WAS,
  filterDo,
  filterFaults,
  joinField,
  keyField,
  operatorField,
  valueField,
} from "./filter-read.ts";
import {
  BUILDER_MAX_DEPTH,
  type FilterCondition,
  isGroup,
  type Join,
  type Placed,
  placed,
  readTree,
  shownValue,
  takesList,
} from "./filter-tree.ts";
import { plain, quoted } from "./text.ts";

/** Suggested keys besides the fields: paths in records of the common kinds. */
const PATHS = [
  ...["Event.Request.Method", "Event.Request.URL", "Event.Response.Status", "Event.RayID", "Event.Cron"],
  ...["Event.Queue", "Event.BatchSize", "Event.RPCMethod", "Event.MailFrom", "Event.RcptTo", "Event.Reason"],
  ...["ScriptVersion.ID", "ScriptVersion.Message", "ScriptVersion.Tag"],
] as const;

/** The keys of a field: its name, or for an extra object what is below it. */
function offered(name: string): string[] {
  if (typeof resolveKey(name, EXTRA_FIELDS) !== "string") return [name];
  return isExtraField(name) ? keysBelow(name) : [];
}

const WORDS: Readonly<Record<string, string>> = {
  eq: "is",
  "!eq": "is not",
  lt: "is less than",
  leq: "is at most",
  gt: "is greater than",
  geq: "is at least",
  startsWith: "begins with",
  endsWith: "ends with",
  "!startsWith": "does not begin with",
  "!endsWith": "does not end with",
  contains: "contains",
  "!contains": "does not contain",
  in: "is one of",
  "!in": "is none of",
};

/**
 * The filter, as a builder of conditions and groups, and as JSON. Every action is a submit button,
 * so that no script is needed.
 */
export const FilterForm: FC<{
  filter: string;
  fields: Readonly<Record<string, string>>;
  faults: readonly ErrorEntry[];
  /** What it does; by default, as for a job. */
  hint?: string;
  /** What no filter means. */
  none?: string;
}> = ({
  filter,
  fields,
  faults,
  hint = "The job ships only matching records, and counts the rest as filtered. The filter sees all fields of a record.",
  none = "No filter: the job ships every record.",
}) => {
  const tree = readTree(filter);
  const found = filterFaults(faults);
  const root = tree.ok && tree.root !== null ? placed(tree.root) : null;
  const places = new Set(root === null ? [] : placesOf(root));
  const elsewhere = found.filter(({ pointer }) => !places.has(pointer)).map(({ message }) => message);
  return (
    <fieldset id="filter">
      <legend>Filter</legend>
      <p class="hint">{hint}</p>
      <input type="hidden" name={FILTER_WAS} value={quoted(filter)} />
      <datalist id="filter-keys">
        {[...Object.keys(fields).flatMap(offered), ...PATHS].map((key) => (
          <option value={key} />
        ))}
      </datalist>
      {!tree.ok && (
        <Notice kind="info" title="The builder cannot show this filter">
          <p>It stays as it is until you change the JSON below.</p>
        </Notice>
      )}
      {tree.ok && elsewhere.map((message) => <p class="error">{visible(message)}</p>)}
      {tree.ok && root === null && <p>{none}</p>}
      {root !== null && <Node at={root} faults={found} />}
      {tree.ok && (root === null || !isGroup(root.node)) && (
        <div class="actions">
          <Do change="add" n={0} label="Add a condition" />
          <Do change="group" n={0} label="Add a group" />
        </div>
      )}
      <details open={!tree.ok}>
        <summary>As JSON</summary>
        <Field
          name={FILTER_JSON}
          label="Filter as JSON"
          value={filter}
          rows={Math.min(12, 3 + Math.floor(filter.length / 90))}
          error={tree.ok || elsewhere.length === 0 ? undefined : elsewhere.join("; ")}
          hint={`At most ${plural(FILTER_MAX_BYTES, "byte")}. If you change this text, the fields above are ignored. Empty: no filter.`}
        />
        <div class="actions">
          <Do change="show" n={0} label="Use this JSON" />
        </div>
      </details>
    </fieldset>
  );
};

function placesOf({ place, nodes }: Placed): string[] {
  return [place, ...nodes.flatMap(placesOf)];
}

interface NodeProps {
  at: Placed;
  faults: readonly Fault[];
}

const Node: FC<NodeProps> = ({ at, faults }) =>
  isGroup(at.node) ? (
    <Group at={at} join={at.node.join} faults={faults} />
  ) : (
    <Condition at={at} condition={at.node} faults={faults} />
  );

const Group: FC<NodeProps & { join: Join }> = ({ at: { n, number, place, depth, nodes }, join, faults }) => {
  const about = ` group ${number}`;
  return (
    <fieldset class="filter-group">
      <legend>Group {number}</legend>
      <p class="filter-join">
        <label for={joinField(n)}>
          Match<span class="unseen"> in group {number}</span>
        </label>{" "}
        <select id={joinField(n)} name={joinField(n)}>
          <option value="and" selected={join === "and"}>
            all (and)
          </option>
          <option value="or" selected={join === "or"}>
            any (or)
          </option>
        </select>
      </p>
      <Faults faults={faults} place={place} />
      <ul class="filter-nodes">
        {nodes.map((each) => (
          <li>
            <Node at={each} faults={faults} />
          </li>
        ))}
      </ul>
      <div class="actions">
        <Do change="add" n={n} label="Add a condition" about={` to${about}`} />
        {depth + 1 < BUILDER_MAX_DEPTH && <Do change="group" n={n} label="Add a group" about={` to${about}`} />}
        <Do change="remove" n={n} label="Remove the group" about={` ${number}`} />
      </div>
    </fieldset>
  );
};

const Condition: FC<NodeProps & { condition: FilterCondition }> = ({ at, condition: node, faults }) => {
  const { n, number, place } = at;
  const key = resolveKey(node.key, EXTRA_FIELDS);
  const fitting = typeof key === "string" ? [...OPERATORS.keys()] : operatorsOn(key.type);
  const operators = fitting.includes(node.operator) ? fitting : [...fitting, node.operator];
  const value = shownValue(node.value, node.operator);
  const isFaulty = faults.some(({ pointer }) => pointer === place);
  const shared = {
    "aria-invalid": isFaulty ? ("true" as const) : undefined,
    "aria-describedby": isFaulty ? `condition-${n}-error` : undefined,
  };
  return (
    <>
      <div class="condition">
        <Label id={keyField(n)} text={`Field of condition ${number}`} />
        <input
          id={keyField(n)}
          name={keyField(n)}
          value={plain(node.key)}
          list="filter-keys"
          placeholder="Field"
          autocomplete="off"
          spellcheck={false}
          {...shared}
        />
        <Label id={operatorField(n)} text={`Operator of condition ${number}`} />
        <select id={operatorField(n)} name={operatorField(n)}>
          {operators.map((operator) => (
            <option value={operator} selected={operator === node.operator}>
              {!Object.hasOwn(WORDS, operator) ? plain(operator) : `${WORDS[operator]} (${operator})`}
            </option>
          ))}
        </select>
        <Label
          id={valueField(n)}
          text={`${takesList(node.operator) ? "Values, one per line," : "Value"} of condition ${number}`}
        />
        {takesList(node.operator) || Array.isArray(node.value) ? (
          <textarea
            id={valueField(n)}
            name={valueField(n)}
            rows={Math.min(8, value.split("\n").length + 1)}
            placeholder="one value per line"
            spellcheck={false}
            {...shared}
          >
            {`\n${value}`}
          </textarea>
        ) : (
          <input
            id={valueField(n)}
            name={valueField(n)}
            value={value}
            placeholder="Value"
            autocomplete="off"
            spellcheck={false}
            {...shared}
          />
        )}
        <Do change="remove" n={n} label="Remove" about={` condition ${number}`} />
      </div>
      <Faults faults={faults} place={place} id={`condition-${n}-error`} />
    </>
  );
};

const Label: FC<{ id: string; text: string }> = ({ id, text }) => (
  <label class="unseen" for={id}>
    {text}
  </label>
);

const Faults: FC<{ faults: readonly Fault[]; place: string; id?: string }> = ({ faults, place, id }) => {
  const there = faults.filter(({ pointer }) => pointer === place);
  return there.length === 0 ? null : (
    <p class="error" id={id}>
      {visible(there.map(({ message }) => message).join("; "))}
    </p>
  );
};

/** A button of the builder: sends the whole form and leads back to the filter. */
const Do: FC<{ change: Parameters<typeof filterDo>[0]; n: number; label: string; about?: string }> = ({
  change,
  n,
  label,
  about,
}) => (
  <button type="submit" class="small" name={DO_FIELD} value={filterDo(change, n)} formaction="#filter">
    {label}
    {about !== undefined && <span class="unseen">{about}</span>}
  </button>
);
