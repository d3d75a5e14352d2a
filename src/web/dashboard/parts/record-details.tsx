import type { Child, FC } from "hono/jsx";
import { count } from "../../../base/words.ts";
import { escaped, Foreign, visible } from "./foreign.tsx";
import { Button } from "./form.tsx";
import { Facts, State } from "./panel.tsx";
import { curlOf, type Leaf, leavesOf } from "./record-filter.ts";
import { type LinksOf, waysOf } from "./record-links.ts";
import { afterWords, type Json, summaryOf, wholeOf } from "./record-summary.ts";
import { TEXT_MAX, TREE_MAX, treeOf, Value } from "./record-value.tsx";

/** Fields, and what was logged or thrown, that are shown one by one; the JSON has all. */
const FIELDS_MAX = 100;
const LOGS_MAX = 200;
/** Longest JSON that is shown, and copied, in characters: no record that is shipped has more. */
const JSON_MAX = 200_000;

export interface DetailsProps {
  /** Unique on the page. An address that ends with it opens the row, too. */
  id: string;
  record: Json;
  /** Where it came from; absent, or empty: unknown, or the record says it. */
  source?: string | undefined;
  /** Of its values; absent: none. Those of many records would weigh more than all else. */
  links?: LinksOf | undefined;
  /** The job whose fields the viewer may change; absent: none, or an unknown one. */
  job?: number | undefined;
  /** Further ways from here. */
  children?: Child;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectsOf = (value: unknown): readonly Json[] =>
  listOf(value).map((each) => (typeof each === "object" && each !== null ? (each as Json) : {}));
const textOf = (value: unknown): string => wholeOf(value ?? "", 0);

/** All of a record: what it is about, what was thrown and logged, every field, and copies. */
export const RecordDetails: FC<DetailsProps> = (props) => {
  const { id, record, source = "", links = () => null, job, children } = props;
  const { Exceptions, ExceptionStacks, Logs, LogErrors, ...fields } = record;
  const [hasThrown, hasLogged] = [Exceptions, Logs].map((each) => listOf(each).length > 0);
  const leaves = leavesOf({
    ...(source !== "" && { Source: source }),
    ...fields,
    // Where there is something that they are of, they stand below it.
    ...(!hasThrown && ExceptionStacks !== undefined && { ExceptionStacks }),
    ...(!hasLogged && LogErrors !== undefined && { LogErrors }),
  }).filter(({ text }) => text !== "");
  const texts = new Map(leavesOf({ Exceptions, Logs }).map((leaf) => [leaf.path, leaf]));
  const said: Said = (path, value) => (
    <Value leaf={texts.get(path) ?? { path, text: textOf(value), condition: null }} links={links} />
  );
  const curl = curlOf(record);
  const isFact = ({ path }: Leaf): boolean => FACTS.some(([, fact]) => fact === path);
  return (
    <div class="record-details" id={id}>
      <Head {...{ id, record, leaves, links, children }} />
      <Thrown {...{ record, said, links }} />
      {hasThrown && ExceptionStacks === undefined && (
        <p class="quiet">
          No stack, as the field <code>ExceptionStacks</code> is not shipped. To ship it, name it in the setting{" "}
          <code>EXTRA_FIELDS</code>, and tick it in{" "}
          {job === undefined ? "the form of the job" : <a href={`/jobs/${job}/edit#format`}>the form of job {job}</a>}.
        </p>
      )}
      <Logged {...{ record, said, links }} />
      <Fields leaves={leaves.filter((leaf) => !isFact(leaf))} links={links} />
      <Copy id={`${id}-json`} label="JSON" text={wholeOf(record).slice(0, JSON_MAX)} />
      {curl !== null && <Copy id={`${id}-curl`} label="curl" text={curl} />}
    </div>
  );
};

/** What the head says, and where it is. */
const FACTS = [
  ...[["Time", "EventTimestampMs"] as const, ["Duration", "WallTimeMs"] as const, ["CPU", "CPUTimeMs"] as const],
  ...[["Worker", "ScriptName"] as const, ["Version", "ScriptVersion.Tag"] as const, ["Source", "Source"] as const],
  ...[["Colo", "RequestCF.colo"] as const, ["Ray", "Event.RayID"] as const],
];

type HeadProps = Pick<DetailsProps, "id" | "record" | "children"> & { leaves: readonly Leaf[]; links: LinksOf };

const Head: FC<HeadProps> = ({ id, record, leaves, links, children }) => {
  const { state, kind, event, host } = summaryOf(record);
  const { itself, request, around } = waysOf(record);
  return (
    <>
      <p class="lead">
        {state !== "" && (
          <State kind={kind}>
            <Foreign text={state} />
          </State>
        )}{" "}
        <Foreign as="span" class="mono" text={event} /> <Foreign as="span" class="quiet mono" text={host} />
      </p>
      <Facts
        rows={FACTS.flatMap(([label, path]) =>
          leaves
            .filter((leaf) => leaf.path === path)
            .map((leaf) => [label, <Value leaf={leaf} links={links} />] as const),
        )}
      />
      <p class="ways">
        {itself !== null && (
          <>
            <CopyButton of={`${id}-link`} label="Copy link" />
            <a id={`${id}-link`} class="record-link" href={itself}>
              Link to this record
            </a>
          </>
        )}
        <CopyButton of={`${id}-json`} label="Copy as JSON" />
        {curlOf(record) !== null && <CopyButton of={`${id}-curl`} label="Copy as curl" />}
        {request !== null && <a href={request}>Same request in other Workers</a>}
        {around !== null && <a href={around}>Before and after</a>}
        {children}
      </p>
    </>
  );
};

const CopyButton: FC<{ of: string; label: string }> = ({ of, label }) => (
  <Button type="button" class="small" data-copy={of} hidden label={label} />
);

/** A text that was logged or thrown, with its links. */
type Said = (path: string, value: unknown) => Child;

/** Nothing where there is none. */
const Stack: FC<{ text: unknown }> = ({ text }) =>
  typeof text !== "string" || text === "" ? null : <Foreign as="pre" text={text} max={TEXT_MAX} />;

interface PartProps {
  record: Json;
  said: Said;
  links: LinksOf;
}

const Thrown: FC<PartProps> = ({ record: { Exceptions, ExceptionStacks, EventTimestampMs }, said }) => {
  const thrown = objectsOf(Exceptions);
  return thrown.length === 0 ? null : (
    <ul class="thrown">
      {thrown.slice(0, LOGS_MAX).map((each, i) => (
        <li>
          <State kind="bad">
            <strong>{said(`Exceptions[${i}].name`, each.name)}</strong>
          </State>{" "}
          <span class="quiet figures">{afterWords(each, EventTimestampMs)}</span>
          <p>{said(`Exceptions[${i}].message`, each.message)}</p>
          <Stack text={listOf(ExceptionStacks)[i]} />
        </li>
      ))}
    </ul>
  );
};

/** Times are counted from the event; the stacks of logged errors stand below their line. */
const Logged: FC<PartProps> = ({ record: { Logs, LogErrors, EventTimestampMs }, said, links }) => {
  const [logged, room] = [objectsOf(Logs), { left: TREE_MAX }];
  return logged.length === 0 ? null : (
    <table class="logged">
      <caption class="unseen">Logs, in order</caption>
      <tbody>
        {logged.slice(0, LOGS_MAX).map((log, i) => {
          const kind = log.Level === "error" ? "bad" : log.Level === "warn" ? "warn" : "quiet";
          return (
            <tr class={`logged-${kind}`}>
              <td class="quiet figures">{afterWords(log, EventTimestampMs)}</td>
              <td>
                <State kind={kind}>
                  <Foreign text={textOf(log.Level)} max={20} />
                </State>
              </td>
              <td class="mono">
                {listOf(log.Message).map(
                  (each, n) => treeOf(textOf(each), links, room) ?? <>{said(`Logs[${i}].Message[${n}]`, each)} </>,
                )}
                {objectsOf(LogErrors).map(({ Log, stack }) => Log === i && <Stack text={stack} />)}
              </td>
            </tr>
          );
        })}
        {logged.length > LOGS_MAX && (
          <tr>
            <td colspan={3}>{count(logged.length - LOGS_MAX)} more in the JSON</td>
          </tr>
        )}
      </tbody>
    </table>
  );
};

/** What the other fields are about, by the beginning of their names. */
const GROUPS: readonly (readonly [label: string, RegExp])[] = [
  ["Request", /^(?:Event\.Request|RequestHeaders)\./],
  ["Response", /^Event\.Response\./],
  ["Cloudflare", /^RequestCF\./],
  ["Record", /^/],
];

const Fields: FC<{ leaves: readonly Leaf[]; links: LinksOf }> = ({ leaves, links }) => {
  const groups = Map.groupBy(leaves.slice(0, FIELDS_MAX), ({ path }) => GROUPS.find(([, begin]) => begin.test(path)));
  return (
    <>
      {GROUPS.filter((group) => groups.has(group)).map((group) => (
        <table class="record-fields">
          <caption>{group[0]}</caption>
          <tbody>
            {groups.get(group)?.map((leaf) => (
              <tr>
                <th scope="row" title={visible(leaf.path.slice(0, 200))}>
                  <Foreign text={leaf.path.replace(group[1], "")} max={200} />
                </th>
                <td>
                  <Value leaf={leaf} links={links} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
      {leaves.length > FIELDS_MAX && <p class="quiet">… and {count(leaves.length - FIELDS_MAX)} more in the JSON.</p>}
    </>
  );
};

/** What a button copies; without a script, it is copied from here. */
const Copy: FC<{ id: string; label: string; text: string }> = ({ id, label, text }) => (
  <details>
    <summary>{label}</summary>
    <pre>
      <code id={id}>{escaped(text)}</code>
    </pre>
  </details>
);
