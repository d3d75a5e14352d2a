import type { Child, FC, PropsWithChildren } from "hono/jsx";
import type { Terms } from "../../destinations/destination.ts";
import { type DestinationEntry, fieldsOf, isChoice, requireForm, shownOf } from "../../destinations/entry.ts";
import type { DestinationForm, FormField } from "../../destinations/form.ts";
import { FORMS } from "../../destinations/kinds.ts";
import type { Viewer } from "../session.ts";
import type { EntryFaults } from "./destination-entry.ts";
import { visible } from "./foreign.tsx";
import { Check, Field, Form, Radio, Select } from "./form.tsx";
import { PathHint } from "./key-path.tsx";

/** Words in which backticks mark code. */
export function coded(words: string): Child {
  return words.split("`").map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part));
}

/**
 * The controls of a destination. Secrets are never shown, only that there are some.
 * @param prefix of their names.
 */
export const DestinationFields: FC<{
  entry: DestinationEntry;
  faults: EntryFaults;
  nowMs: number;
  prefix?: string;
}> = ({ entry, faults, nowMs, prefix = "" }) => {
  const control = (field: FormField) => (
    <Control field={field} entry={entry} error={faults[field.name]} nowMs={nowMs} prefix={prefix} />
  );
  const { parts } = requireForm(entry);
  const further = fieldsOf(requireForm(entry)).filter(({ isFurther }) => isFurther === true);
  const isHeld = ({ name }: FormField) => (entry.values[name] ?? "") !== "" || faults[name] !== undefined;
  return (
    <>
      {parts.map((part) =>
        isChoice(part) ? (
          <fieldset>
            <legend>{part.legend}</legend>
            {part.ways.map(({ value, label, hint, fields }) => (
              <>
                <Radio
                  name={prefix + part.name}
                  value={value}
                  label={label}
                  checked={entry.values[part.name] === value}
                  hint={coded(hint)}
                />
                {fields.map(control)}
              </>
            ))}
          </fieldset>
        ) : part.isFurther === true ? null : (
          control(part)
        ),
      )}
      {further.length > 0 && (
        <details class="further" open={further.some(isHeld)}>
          <summary>{further.length === 1 ? "More" : "More parameters and headers"}</summary>
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
  prefix: string;
}> = ({ field, entry, error, nowMs, prefix }) => {
  const { label, kind, choices, isSecret } = field;
  const name = prefix + field.name;
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
        hint={isStored ? <>Stored. Leave empty to keep it.{hint === undefined ? "" : [" ", hint]}</> : hint}
      />
    );
  }
  // Lines are shown as they are: each has to come back as it was.
  return kind === "lines" ? (
    <Field {...shared} value={value} rows={2} autocomplete="off" hint={hint} />
  ) : (
    <Field {...shared} value={visible(value)} autocomplete="off" hint={hint} />
  );
};

/** @param here ends with `?`, or with a query and `&`. */
export const Kinds: FC<{ entry: DestinationEntry; here: string }> = ({ entry, here }) => (
  <details class="kinds">
    <summary>
      Destination: <strong>{requireForm(entry).name}</strong>, change it
    </summary>
    <nav aria-label="Kind of destination">
      {GROUPS.map(({ group, title }) => (
        <p class="actions">
          <span>{title}:</span>
          {formsOf(group).map(({ id, name }) => (
            <a
              href={`${here}scheme=${id}`}
              class="button small"
              aria-current={entry.form === id ? ("true" as const) : undefined}
            >
              {name}
            </a>
          ))}
        </p>
      ))}
    </nav>
  </details>
);

/** The forms of a group, by their names. */
export function formsOf(group: DestinationForm["group"]): DestinationForm[] {
  return FORMS.filter((form) => form.group === group).sort((a, b) =>
    a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1,
  );
}

/** The groups of kinds, as they are offered. */
export const GROUPS = [
  {
    group: "store",
    title: "Stores",
    words: "Compressed objects in a bucket, each record exactly once. They can be searched and replayed.",
  },
  {
    group: "receiver",
    title: "Receivers",
    words: "A request for each batch, each record at least once. What was sent cannot be read back.",
  },
] as const;

/** What a destination promises, in one line. */
export const Guarantee: FC<{ terms: Terms }> = ({ terms: { repeats } }) =>
  repeats.once ? (
    <>Exactly once.</>
  ) : (
    <>At least once. After a lost answer, records are sent again with the same id ({coded(repeats.id)}).</>
  );

/** Fills the form from a `destination_conf`. @param error what was pasted before is none. */
export const PasteForm: FC<
  PropsWithChildren<{ viewer: Viewer; action: string; path: string; error: string | undefined }>
> = ({ viewer, action, path, error, children }) => (
  <details class="panel" open={error !== undefined}>
    <summary>Paste a destination_conf</summary>
    <Form viewer={viewer} action={action} label="Paste a destination">
      {children}
      <Field
        name="conf"
        label="destination_conf"
        rows={3}
        spellcheck={false}
        error={error}
        hint={
          <>
            Such as <code>{`s3://bucket/${path}/{DATE}?region=…&access-key-id=…&secret-access-key=…`}</code>.
          </>
        }
      />
      <button type="submit" name="do" value="paste">
        Fill the form
      </button>
    </Form>
  </details>
);
