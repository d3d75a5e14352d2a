import type { Child, FC } from "hono/jsx";
import { parsedJson } from "../../../base/bytes.ts";
import { FIELDS_MAX_UNITS } from "../../../base/limits.ts";
import { count, plural, took } from "../../../base/words.ts";
import { Foreign, visible } from "./foreign.tsx";
import type { Leaf } from "./record-filter.ts";
import { type LinksOf, PIN_FORM } from "./record-links.ts";
import { wholeOf } from "./record-summary.ts";
import { Time } from "./values.tsx";

/** Longest text of a log line or value, in characters. */
export const TEXT_MAX = 4_000;

/** Names and values of logged objects that one record shows; the JSON has all. */
export const TREE_MAX = 200;
/** What is shown of a closed one, in characters. */
const CLOSED_MAX = 200;
/** An object with more is closed at first. */
const OPEN_MAX = 12;

/** A value as a person reads it: times in UTC, durations with their unit. */
const Said: FC<{ leaf: Leaf }> = ({ leaf: { path, text } }) => {
  const value = text === "" ? Number.NaN : Number(text);
  const isTime = /(?:TimestampMs|ScheduledTimeMs)$/.test(path) && !Number.isNaN(new Date(value).getTime());
  if (isTime) return <Time at={value} stepMs={1} />;
  const isDuration = /^(?:Wall|CPU)TimeMs$/.test(path) && !Number.isNaN(value);
  return <Foreign text={isDuration ? took(value) : text} max={TEXT_MAX} />;
};

/** A value, which leads to records with it; what stands behind it, to those without. */
export const Value: FC<{ leaf: Leaf; links: LinksOf }> = ({ leaf, links }) => {
  const to = links(leaf);
  if (to === null) return <Said leaf={leaf} />;
  return (
    <>
      <a class="record-value" href={to.is} title="only with this value">
        <Said leaf={leaf} />
      </a>
      <span class="narrow">
        <a href={to.isNot} title="only without this value">
          ≠<span class="unseen">{` not ${visible(leaf.path.slice(0, 100))}`}</span>
        </a>
        {to.pin !== undefined && (
          <button type="submit" class="pin" form={PIN_FORM} name="pins" value={to.pin} title="count its values">
            pin<span class="unseen"> {visible(to.pin.slice(0, 100))}</span>
          </button>
        )}
      </span>
    </>
  );
};

/** How much of a record may still be shown in trees. */
type Room = { left: number };

/** A logged text that is an object or a list, as a tree that folds. null: it is none. */
export function treeOf(text: string, links: LinksOf, room: Room): Child | null {
  if (!/^[{[]/.test(text) || text.length > FIELDS_MAX_UNITS) return null;
  const value = parsedJson(text);
  if (typeof value !== "object" || value === null) return null;
  // Of lists, searches know no fields.
  const branch = branchOf(Array.isArray(value) ? () => null : links, room);
  return <ul class="tree">{branch("", "Fields", value, 0)}</ul>;
}

/** @returns its `path` is as searches name it: through lists, without their places. */
function branchOf(links: LinksOf, room: Room) {
  return function branch(name: string, path: string, value: unknown, depth: number): Child {
    room.left -= 1;
    const label = name !== "" && <bdi class="quiet">{visible(name.slice(0, 200))}:</bdi>;
    if (typeof value !== "object" || value === null)
      return (
        <li>
          {label} <Value leaf={{ path, text: String(value), condition: null }} links={links} />
        </li>
      );
    const [text, entries] = [wholeOf(value, 0).slice(0, CLOSED_MAX), Object.entries(value)];
    if (room.left <= 0 || entries.length === 0)
      return (
        <li>
          {label} <Foreign text={text} />
        </li>
      );
    const shown: Child[] = [];
    for (const [key, each] of entries) {
      if (room.left <= 0) break;
      shown.push(branch(key, Array.isArray(value) ? path : `${path}.${key}`, each, depth + 1));
    }
    const more = entries.length - shown.length;
    return (
      <li>
        <details open={entries.length <= OPEN_MAX && depth < 2}>
          <summary>
            {label} <bdi class="tree-text">{visible(text)}</bdi>{" "}
            <span class="quiet">{plural(entries.length, "value")}</span>
          </summary>
          <ul>
            {shown}
            {more > 0 && <li class="quiet">… and {count(more)} more in the JSON</li>}
          </ul>
        </details>
      </li>
    );
  };
}
