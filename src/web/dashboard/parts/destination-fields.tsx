import type { Child, FC } from "hono/jsx";
import type { Config } from "../../../config.ts";
import type { Terms } from "../../../ship/destinations/destination.ts";
import type { DestinationForm, FormField, FormPart } from "../../../ship/destinations/destination-form.ts";
import { type DestinationEntry, isChoice, requireForm, shownOf } from "../../../ship/destinations/entry.ts";
import { FORMS } from "../../../ship/destinations/kinds.ts";
import { type EntryFaults, isLocalEntry, localEntry, PREFIX } from "./destination-entry.ts";
import { visible } from "./foreign.tsx";
import { Check, DO_FIELD, Field, Radio, Select } from "./form.tsx";
import { PathHint, Placeholders } from "./key-path.tsx";

/** Words in which backticks mark code. */
export function coded(words: string): Child {
  return words.split("`").map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part));
}

/**
 * The controls of a destination. Secrets are never shown, only that there are some.
 * @param isLocal it is the local bucket: all but the path is as it has to be, and folded away.
 */
export const DestinationFields: FC<{
  entry: DestinationEntry;
  faults: EntryFaults;
  nowMs: number;
  isLocal?: boolean;
}> = ({ entry, faults, nowMs, isLocal = false }) => {
  const control = (part: FormPart) =>
    isChoice(part) ? (
      <fieldset>
        <legend>{part.legend}</legend>
        {part.ways.map(({ value, label, hint, fields }) => (
          <div class="choice">
            <Radio
              name={PREFIX + part.name}
              value={value}
              label={label}
              checked={entry.values[part.name] === value}
              hint={coded(hint)}
            />
            {fields.map(control)}
          </div>
        ))}
      </fieldset>
    ) : (
      <Control field={part} entry={entry} error={faults[part.name]} nowMs={nowMs} />
    );
  const isFolded = (part: FormPart): boolean =>
    isLocal ? isChoice(part) || part.kind !== "path" : !isChoice(part) && part.isFurther === true;
  const { parts } = requireForm(entry);
  const further = parts.filter(isFolded);
  const isOpen = further.some(
    (part) =>
      !isChoice(part) && (faults[part.name] !== undefined || (!isLocal && (entry.values[part.name] ?? "") !== "")),
  );
  return (
    <>
      {parts.filter((part) => !isFolded(part)).map(control)}
      {further.length > 0 && (
        <details class="further" open={isOpen}>
          <summary>
            {isLocal
              ? "Bucket and keys of local development"
              : further.length === 1
                ? "More"
                : "More parameters and headers"}
          </summary>
          {further.map(control)}
        </details>
      )}
    </>
  );
};

const Control: FC<{
  field: FormField;
  entry: DestinationEntry;
  error: string | undefined;
  nowMs: number;
}> = ({ field, entry, error, nowMs }) => {
  const { label, kind, choices, isSecret } = field;
  const name = PREFIX + field.name;
  const value = shownOf(field, entry);
  const words = field.hint === undefined ? undefined : coded(field.hint);
  const hint = kind === "path" ? <PathHint path={value} nowMs={nowMs} /> : words;
  if (kind === "check") return <Check name={name} label={coded(label)} checked={value !== ""} hint={error ?? hint} />;
  if (choices !== undefined) {
    const isKnown = choices.some((choice) => choice.value === value);
    const own = isKnown || value === "" ? [] : [{ value, label: visible(value) }];
    return <Select name={name} label={label} value={value} options={[...choices, ...own]} hint={hint} error={error} />;
  }
  const shared = { name, label, error, spellcheck: false };
  if (isSecret === true) {
    const isStored = (entry.values[field.name] ?? "") !== "";
    return (
      <Field
        {...shared}
        // An id is no password: a browser would offer to store it.
        {...(/\bid$/i.test(label)
          ? { autocomplete: "off" }
          : { type: "password" as const, autocomplete: "new-password" })}
        hint={isStored ? <>Already entered. Leave empty to keep it.{hint === undefined ? "" : [" ", hint]}</> : hint}
      />
    );
  }
  // Lines are shown as they are: each has to come back as it was.
  return kind === "lines" ? (
    <Field {...shared} value={value} rows={2} autocomplete="off" hint={hint} />
  ) : (
    <>
      <Field {...shared} value={visible(value)} autocomplete="off" hint={hint} />
      {kind === "path" && <Placeholders nowMs={nowMs} />}
    </>
  );
};

const GROUPS = [
  {
    group: "store",
    title: "Stores",
    words: "Compressed objects in a bucket, each record exactly once. You can search and replay them.",
  },
  {
    group: "receiver",
    title: "Log services",
    words: "One request per batch, each record at least once. You cannot read sent records back.",
  },
] as const;

/** The kinds of destinations, each a button that shows the form again. */
export const Kinds: FC<{ entry: DestinationEntry; config: Config; open: boolean }> = ({ entry, config, open }) => {
  const local = localEntry(config);
  const isLocal = isLocalEntry(entry, config);
  return (
    <details class="kinds" open={open}>
      <summary>
        Destination: <strong>{isLocal ? LOCAL : requireForm(entry).name}</strong>
      </summary>
      {GROUPS.map(({ group, title, words }) => (
        <>
          <p class="hint">
            {title}: {words}
          </p>
          <p class="actions">
            {local !== null && group === "store" && <Kind id="local" name={LOCAL} isChosen={isLocal} />}
            {formsOf(group, config.bindings.length > 0).map(({ id, name }) => (
              <Kind id={id} name={name} isChosen={entry.form === id && !isLocal} />
            ))}
          </p>
        </>
      ))}
    </details>
  );
};

const LOCAL = "Local bucket";

const Kind: FC<{ id: string; name: string; isChosen: boolean }> = ({ id, name, isChosen }) => (
  <button
    type="submit"
    class="small"
    name={DO_FIELD}
    value={`kind:${id}`}
    formaction="#destination"
    aria-pressed={isChosen ? "true" : "false"}
  >
    {name}
  </button>
);

/** The forms of a group: stores as they are offered, receivers by their names. */
function formsOf(group: DestinationForm["group"], isBound: boolean): DestinationForm[] {
  const rank = ({ id, name }: DestinationForm): string =>
    group === "receiver" ? name.toLowerCase() : id === "binding" && isBound ? "" : "store";
  return FORMS.filter((form) => form.group === group).sort((a, b) =>
    rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0,
  );
}

/** What a destination promises, in one line. */
export const Guarantee: FC<{ terms: Terms }> = ({ terms: { repeats } }) =>
  repeats.once ? (
    <>Exactly once.</>
  ) : (
    <>At least once. After a lost answer, records are sent again with the same id ({coded(repeats.id)}).</>
  );
