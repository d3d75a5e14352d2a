/** Signs in a project file of a failed intention to attach it. */
import { CONSUMERS, isObject, type Json, own, PREVIEWS } from "./model.ts";
import { type Consumer, isService, type Section, SWITCHES } from "./sections.ts";
import { plain } from "./text.ts";

/** How many characters a misspelt name may differ; fewer for a short name. */
const MISSPELT_MAX = 2;

/** Names that look like Cloudflare's, and are not. */
const OTHER_NAMES = ["tailconsumers", "tailconsumer", "tails", "tail", "tailworkers", "tailworker", "consumers"];

/** Where keys are the user's own, or are passed on as they are. */
const FREE = ["vars", "define", "unsafe"];

/** What in a section looks like an attempt to name this service as a consumer. */
export function suspicionsOf({ raw, consumers, place, isPreviews }: Section, service: string): string[] {
  return [
    ...consumers.flatMap((consumer) => nearMiss(consumer, service) ?? []),
    ...streaming(raw, service),
    ...misspelt(raw, service),
    ...misplaced(raw, service, isPreviews ? [] : [PREVIEWS, ...(place === null ? ["env"] : [])], []),
  ];
}

function nearMiss(consumer: Consumer, service: string): string | null {
  const { service: name, environment, namespace } = consumer;
  if (isService(consumer, service)) return null;
  if (name === service) {
    const what = environment ? `environment ${JSON.stringify(environment)}` : `namespace ${JSON.stringify(namespace)}`;
    return `its consumer "${service}" has ${plain(what)}, which makes it a different service`;
  }
  if (name.startsWith(`${service}-`)) {
    const suffix = name.slice(service.length + 1);
    return `its consumer is "${plain(name)}", not "${service}": the name that wrangler deploy --env ${plain(suffix)} gives logship; if you mean that one, pass --service ${plain(name)}`;
  }
  const most = Math.min(MISSPELT_MAX, Math.floor(service.length / 3));
  if (distance(name.toLowerCase(), service.toLowerCase()) > most) return null;
  return `its consumer is "${plain(name)}", not "${service}"`;
}

function streaming(raw: Json, service: string): string[] {
  if (!mentions(own(raw, "streaming_tail_consumers"), service)) return [];
  return [
    `"${service}" is in streaming_tail_consumers, but logship has no handler for streams: move it to ${CONSUMERS}`,
  ];
}

function misspelt(raw: Json, service: string): string[] {
  return Object.keys(raw)
    .filter((key) => key !== CONSUMERS && key !== "streaming_tail_consumers" && looksLikeConsumers(key))
    .filter((key) => mentions(raw[key], service))
    .map((key) => `"${plain(key)}" names "${service}", but the property is called "${CONSUMERS}"`);
}

function looksLikeConsumers(key: string): boolean {
  return distance(key, CONSUMERS) <= MISSPELT_MAX || OTHER_NAMES.includes(key.toLowerCase().replaceAll(/[^a-z]/g, ""));
}

/**
 * In TOML a line below a header belongs to that table, however it is indented; below
 * `[[kv_namespaces]]`, to the last of several.
 */
function misplaced(object: Json, service: string, skipped: readonly string[], path: readonly string[]): string[] {
  return Object.entries(object).flatMap(([key, value]) => {
    if (skipped.includes(key)) return [];
    const inner = [...path, key];
    const tables = (Array.isArray(value) ? value : [value]).filter(isObject);
    return tables.flatMap((table) => [
      ...strays(table, service, inner).map(
        (what) =>
          `${what} is below "${plain(inner.join("."))}", where it has no effect; in TOML, move it above that header`,
      ),
      ...misplaced(table, service, [], inner),
    ]);
  });
}

function strays(table: Json, service: string, [outermost = ""]: readonly string[]): string[] {
  return [
    ...(mentions(own(table, CONSUMERS), service) ? [`${CONSUMERS} with "${service}"`] : []),
    ...(FREE.includes(outermost) ? [] : SWITCHES.filter((name) => own(table, name) === true)),
  ];
}

/** Whether a value looks like the service as a consumer. */
function mentions(value: unknown, service: string): boolean {
  if (typeof value === "string") return value.toLowerCase() === service.toLowerCase();
  if (Array.isArray(value)) return value.some((each) => mentions(each, service));
  return isObject(value) && mentions(own(value, "service"), service);
}

/**
 * The number of characters to insert, remove or replace that make one of the other (Levenshtein).
 */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
