import { errorText, log } from "../../base/logger.ts";
import type { Tally } from "../../formats/measures/measures.ts";
import { StateWriter } from "../../formats/measures/state-bytes.ts";
import { LineQueries, Lines, MessageText } from "../../formats/query/line-queries.ts";
import { readQuery } from "../../formats/query/meaning.ts";
import { nameOf } from "../../formats/query/names.ts";
import { type Loaded, load, storedMessage } from "../../formats/queue/load-records.ts";
import type { MacKey } from "../../formats/queue/mac.ts";
import { type AlertedSearch, keyOfSearch, shapeOf } from "../job/searches.ts";
import type { Append, PartHead, SearchCount } from "./append-types.ts";
import type { Offers } from "./offers.ts";

/** Searches, compiled: once for each configuration. */
interface Plan {
  queries: LineQueries;
  each: {
    search: AlertedSearch;
    /** That its measure looks at; null: at none. */
    fields: readonly string[] | null;
    tally(): Tally;
    valuesOf(record: object): unknown[];
  }[];
  keys: string[];
}

const plans = new WeakMap<readonly AlertedSearch[], Plan>();

function planOf(searches: readonly AlertedSearch[]): Plan {
  const known = plans.get(searches);
  if (known !== undefined) return known;
  const read = searches.flatMap((search) => {
    const query = readQuery(search.query);
    const shape = shapeOf(search.alert);
    const [of] = shape.names;
    const name = of === undefined ? null : nameOf(of);
    // It was valid when it was stored, by a later version of this code.
    if (!query.ok || (of !== undefined && name === null)) return [];
    const valuesOf = (record: object) => (name === null ? [] : [name.valuesOf(record)[0]]);
    const each = { search, fields: name?.fields ?? null, tally: () => shape.tally(), valuesOf };
    return [{ question: query.question, each }];
  });
  const plan: Plan = {
    queries: new LineQueries(read.map(({ question }) => question)),
    each: read.map(({ each }) => each),
    keys: read.map(({ each: { search } }) => keyOfSearch(search)),
  };
  plans.set(searches, plan);
  return plan;
}

/** Counts what searches match, message by message. */
export class Searching {
  readonly #plan: Plan;
  #raw: Uint8Array | null = null;
  #text = new MessageText(new Uint8Array());

  constructor(searches: readonly AlertedSearch[]) {
    this.#plan = planOf(searches);
  }

  /** Those that it counts, by {@link keyOfSearch}. */
  get keys(): readonly string[] {
    return this.#plan.keys;
  }

  /**
   * Adds to the head of a part what each search matches. Never throws: nothing is held up by it.
   * @param part its records must not have been freed.
   */
  counted(head: PartHead, part: Loaded): PartHead {
    if (this.#plan.keys.length === 0) return head;
    try {
      const found = this.#found(part);
      if (found.size === 0) return head;
      const functions = head.functions.map((each) => {
        const searches = found.get(each.scriptName);
        // Of a function that is there twice, the first stands for both.
        found.delete(each.scriptName);
        return searches === undefined ? each : { ...each, searches };
      });
      return { ...head, functions };
    } catch (error) {
      log.error("searches could not be counted", { error: errorText(error) });
      return head;
    }
  }

  /** By function. */
  #found({ raw, records, firstLine }: Loaded): Map<string, SearchCount[]> {
    if (this.#raw !== raw) [this.#raw, this.#text] = [raw, new MessageText(raw)];
    const { queries, each } = this.#plan;
    const lines = new Lines(records, this.#text, firstLine);
    const names = lines.values("ScriptName");
    const found = new Map<string, SearchCount[]>();
    for (const [at, places] of queries.matches(lines).entries()) {
      const { search, fields, tally, valuesOf } = each[at] as Plan["each"][0];
      for (const [scriptName, own] of Map.groupBy(places, (i) => names[i] as string)) {
        const count: SearchCount = { id: search.id, stamp: search.stamp, count: own.length };
        if (fields !== null) {
          const sum = tally();
          for (const i of own) sum.add(valuesOf(lines.seen(i, fields)));
          count.state = stateOf(sum);
        }
        found.set(scriptName, [...(found.get(scriptName) ?? []), count]);
      }
    }
    return found;
  }
}

/**
 * What searches match of parts that are new, by {@link keyOfSearch}: as the handler has counted it,
 * and else as it is counted here. Of functions whose logging was off, nothing.
 */
export function searchedIn(
  offers: Offers,
  searches: readonly AlertedSearch[],
  { records, searched = [] }: Pick<Append, "records" | "searched">,
  macKeys: readonly MacKey[],
): ReadonlyMap<string, readonly SearchCount[]> {
  const missing = searches.filter((search) => !searched.includes(keyOfSearch(search)));
  // The same list is compiled once.
  const searching = new Searching(missing.length === searches.length ? searches : missing);
  const heads = new Map([...offers.keys()].map((head) => [head.id, head]));
  const here = new Map<string, PartHead>();
  if (searching.keys.length > 0)
    for (const { body, parts } of records) {
      if (!parts.some((id) => heads.has(id))) continue;
      const loading = load(storedMessage(body), macKeys);
      for (const part of loading.kind === "loaded" ? loading.loaded : []) {
        const head = heads.get(part.message.id);
        if (head !== undefined) here.set(head.id, searching.counted(bare(head), part));
      }
    }
  const counts = [...offers].flatMap(([head, { off }]) =>
    [head, here.get(head.id)].flatMap((each) =>
      (each?.functions ?? []).flatMap(({ scriptName, searches: own = [] }) => (off.has(scriptName) ? [] : own)),
    ),
  );
  return Map.groupBy(counts, keyOfSearch);
}

function bare(head: PartHead): PartHead {
  return { ...head, functions: head.functions.map(({ searches: _, ...each }) => each) };
}

/** In base64. */
export function stateOf(tally: Tally): string {
  const state = new StateWriter();
  tally.write(state);
  return state.text();
}
