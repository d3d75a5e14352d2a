import type { Child, FC } from "hono/jsx";
import { count } from "../../../base/words.ts";
import { Foreign, visible } from "./foreign.tsx";
import { Snippet, State } from "./panel.tsx";
import { type Condition, curlOf, leavesOf } from "./record-filter.ts";
import { afterWords, wholeOf } from "./record-summary.ts";

/** Longest text of a log line or value, in characters. */
const TEXT_MAX = 4_000;

/** Fields and log lines that are shown one by one; the JSON has all. */
const FIELDS_MAX = 100;
const LOGS_MAX = 200;

interface Links {
  is: string;
  isNot: string;
}

interface Shown {
  [name: string]: unknown;
}

const objectOf = (value: unknown): Shown =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Shown) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectsOf = (value: unknown): readonly Shown[] => listOf(value).map(objectOf);
const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/**
 * All of a record: what was thrown, what was logged in order, every field, and copies.
 * @param id unique on the page.
 * @param links to records that fulfil this condition, or do not; absent, or null: none.
 */
export const RecordDetails: FC<{
  id: string;
  record: Shown;
  links?: (condition: Condition) => Links | null;
  children?: Child;
}> = ({ id, record, links, children }) => {
  const curl = curlOf(record);
  const { Exceptions: _, Logs: __, ...fields } = record;
  return (
    <div class="record-details">
      {children}
      <Exceptions exceptions={objectsOf(record.Exceptions)} stacks={listOf(record.ExceptionStacks)} />
      {listOf(record.Exceptions).length > 0 && record.ExceptionStacks === undefined && (
        <p class="hint">Without a stack: the job does not ship the field ExceptionStacks.</p>
      )}
      <Logs logs={objectsOf(record.Logs)} errors={objectsOf(record.LogErrors)} startMs={record.EventTimestampMs} />
      <table class="record-fields">
        <caption class="unseen">Fields</caption>
        <tbody>
          {leavesOf(fields)
            .filter(({ text }) => text !== "")
            .slice(0, FIELDS_MAX)
            .map(({ path, text, condition }) => (
              <tr>
                <th scope="row">
                  <Foreign text={path} max={200} />
                </th>
                <td>
                  <Foreign text={text} max={TEXT_MAX} />{" "}
                  {condition !== null && <Narrow of={`${path} ${text}`} links={links?.(condition) ?? null} />}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      {curl !== null && <Snippet id={`${id}-curl`} label="curl" text={curl} />}
      <Snippet id={`${id}-json`} label="JSON" text={wholeOf(record)} />
    </div>
  );
};

const Narrow: FC<{ of: string; links: Links | null }> = ({ of, links }) => {
  if (links === null) return null;
  const about = visible(of.slice(0, 100));
  return (
    <span class="narrow">
      <a href={links.is} title="only with this value">
        =<span class="unseen">{` only ${about}`}</span>
      </a>{" "}
      <a href={links.isNot} title="only without this value">
        ≠<span class="unseen">{` not ${about}`}</span>
      </a>
    </span>
  );
};

/** What was thrown, and the errors that were logged, with their stacks. */
export const Thrown: FC<{ record: Shown }> = ({ record }) => {
  const logged = objectsOf(record.LogErrors);
  return (
    <>
      <Exceptions exceptions={objectsOf(record.Exceptions)} stacks={listOf(record.ExceptionStacks)} />
      <Exceptions exceptions={logged} stacks={logged.map(({ stack }) => stack)} how="logged " />
    </>
  );
};

/** Nothing where there is none. */
const Stack: FC<{ text: unknown }> = ({ text }) =>
  typeof text !== "string" || text === "" ? null : <Foreign as="pre" text={text} max={TEXT_MAX} />;

const Exceptions: FC<{ exceptions: readonly Shown[]; stacks: readonly unknown[]; how?: string }> = ({
  exceptions,
  stacks,
  how = "",
}) =>
  exceptions.length === 0 ? null : (
    <ul class="thrown">
      {exceptions.map(({ name, message }, i) => (
        <li>
          <State kind="bad">
            <Foreign text={`${how}${textOf(name ?? "")}: ${textOf(message ?? "")}`} max={TEXT_MAX} />
          </State>
          <Stack text={stacks[i]} />
        </li>
      ))}
    </ul>
  );

/** Times are counted from the event; the stacks of logged errors stand below their line. */
const Logs: FC<{ logs: readonly Shown[]; errors: readonly Shown[]; startMs: unknown }> = ({ logs, errors, startMs }) =>
  logs.length === 0 ? null : (
    <table class="logged">
      <caption class="unseen">Logs, in order</caption>
      <tbody>
        {logs.slice(0, LOGS_MAX).map((log, i) => {
          const { Level, Message } = log;
          const level = textOf(Level ?? "");
          return (
            <tr>
              <td class="quiet figures">{afterWords(log, startMs)}</td>
              <td>
                <State kind={level === "error" ? "bad" : level === "warn" ? "warn" : "quiet"}>
                  <Foreign text={level} max={20} />
                </State>
              </td>
              <td class="mono">
                <Foreign text={listOf(Message).map(textOf).join(" ")} max={TEXT_MAX} />
                {errors.map(({ Log, stack }) => Log === i && <Stack text={stack} />)}
              </td>
            </tr>
          );
        })}
        {logs.length > LOGS_MAX && (
          <tr>
            <td colspan={3}>{count(logs.length - LOGS_MAX)} more in the JSON</td>
          </tr>
        )}
      </tbody>
    </table>
  );
