import type { Child, FC } from "hono/jsx";
import { parsedJson } from "../../../base/bytes.ts";
import { FIELDS_MAX_UNITS } from "../../../base/limits.ts";
import { count } from "../../../base/words.ts";
import { Foreign, visible } from "./foreign.tsx";
import { Snippet, State } from "./panel.tsx";
import { curlOf, type Leaf, leavesOf } from "./record-filter.ts";
import { afterWords, wholeOf } from "./record-summary.ts";

/** Longest text of a log line or value, in characters. */
const TEXT_MAX = 4_000;

/** Fields and log lines that are shown one by one; the JSON has all. */
const FIELDS_MAX = 100;
const LOGS_MAX = 200;
/** Fields of logged objects that are shown beside. */
const LOGGED_MAX = 20;

/** Where a value leads to: records with it, and those without. */
export interface Links {
  is: string;
  isNot: string;
  /** The name whose values a button of the form {@link PIN_FORM} has counted. */
  pin?: string;
}

/** The id of that form, which the page has. */
export const PIN_FORM = "pin";

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
 * @param links of a value; absent, or null: none.
 */
export const RecordDetails: FC<{
  id: string;
  record: Shown;
  links?: (leaf: Leaf) => Links | null;
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
          {[...leavesOf(fields), ...(links === undefined ? [] : loggedIn(record))]
            .filter(({ text }) => text !== "")
            .slice(0, FIELDS_MAX)
            .map((leaf) => ({ ...leaf, to: links?.(leaf) ?? null }))
            .map(({ path, text, to }) => (
              <tr>
                <th scope="row">
                  <Foreign text={path} max={200} />
                </th>
                <td>
                  <Foreign text={text} max={TEXT_MAX} /> <Narrow path={path} text={text} links={to} />
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

/** Fields of logged objects, as counts name them. */
function loggedIn({ Logs }: Shown): Leaf[] {
  const texts = objectsOf(Logs).flatMap(({ Message }) => listOf(Message));
  const objects = texts.map((each) =>
    typeof each === "string" && each.startsWith("{") && each.length <= FIELDS_MAX_UNITS ? parsedJson(each) : null,
  );
  const leaves = objects.flatMap((each) => leavesOf(objectOf(each)));
  // A name leads through lists.
  return leaves
    .slice(0, LOGGED_MAX)
    .map(({ path, text }) => ({ path: `Fields.${path.replaceAll(/\[\d+\]/g, "")}`, text, condition: null }));
}

const Narrow: FC<{ path: string; text: string; links: Links | null }> = ({ path, text, links }) => {
  if (links === null) return null;
  const about = visible(`${path} ${text}`.slice(0, 100));
  return (
    <span class="narrow">
      <a href={links.is} title="only with this value">
        =<span class="unseen">{` only ${about}`}</span>
      </a>{" "}
      <a href={links.isNot} title="only without this value">
        ≠<span class="unseen">{` not ${about}`}</span>
      </a>
      {links.pin !== undefined && (
        <button type="submit" class="pin" form={PIN_FORM} name="pins" value={links.pin} title="count its values">
          pin<span class="unseen"> {visible(links.pin.slice(0, 100))}</span>
        </button>
      )}
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
