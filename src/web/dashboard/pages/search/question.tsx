import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { QUERY_MAX_UNITS } from "../../../../base/limits.ts";
import { faultPlace } from "../../../../operate/search/words.ts";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Field, Select } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import { type Asked, OUTCOMES } from "./address.ts";

/** What is asked of records, as Search and Live take it. */
export const QuestionFields: FC<{ asked: Asked }> = ({ asked: { q, function: name, outcome } }) => (
  <>
    <Field
      name="q"
      label="Search for"
      type="search"
      value={visible(q)}
      placeholder="status:5xx path:/checkout/* declined"
      spellcheck={false}
      autocomplete="off"
      maxlength={QUERY_MAX_UNITS}
    />
    <Field name="function" label="Worker" value={visible(name)} spellcheck={false} autocomplete="off" />
    <Select
      name="outcome"
      label="Outcome"
      value={outcome}
      options={[
        ...Object.entries(OUTCOMES).map(([value, label]) => ({ value, label })),
        ...(Object.hasOwn(OUTCOMES, outcome) ? [] : [{ value: outcome, label: visible(outcome) }]),
      ]}
    />
  </>
);

/**
 * Why a question was refused; of a query, with the place of its fault, and the way to what was
 * entered as a phrase.
 * @param phrase leads there.
 */
export const Refused: FC<{ title: string; errors: readonly ErrorEntry[]; query: string; phrase: string }> = ({
  title,
  errors,
  query,
  phrase,
}) => {
  const at = errors.find(({ source }) => source?.pointer === "/query")?.source?.at;
  const [before, from] = faultPlace(query, at ?? 0);
  return (
    <Notice kind="warn" title={title}>
      <ul>
        {errors.map(({ message }) => (
          <li>
            <Foreign text={message} max={400} />
          </li>
        ))}
      </ul>
      {at !== undefined && (
        <>
          <p class="mono">
            <Foreign text={before} />
            <mark>
              <Foreign text={from} />
            </mark>
          </p>
          <p>
            <a href={phrase}>Search for it as a phrase</a>
          </p>
        </>
      )}
    </Notice>
  );
};
