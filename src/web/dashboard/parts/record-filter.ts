/** A condition of a filter that a value of a record suggests. */
export interface Condition {
  key: string;
  operator: "eq" | "contains" | "geq";
  value: string | number | boolean;
}

/** A value of a record. The texts come from the record: show them through `visible`. */
export interface Leaf {
  /** Where it is: `Event.Request.URL`, `Logs[0].Message[0]`. */
  path: string;
  text: string;
  /** null: no filter can name it. */
  condition: Condition | null;
}

/** Leaves of one record, and how deep they may be. */
const LEAVES_MAX = 400;
const DEPTH_MAX = 50;
/** Of a value in a suggested condition, in UTF-16 units: a filter has 8,192 bytes in all. */
const VALUE_MAX = 500;
/** Keys whose values `eq` takes. */
const NAMED =
  /^(?:CPUTimeMs|DispatchNamespace|DurableObjectID|Entrypoint|EventTimestampMs|EventType|ExecutionModel|Outcome|ScriptName|Truncated|WallTimeMs|(?:Event|Preview|RequestCF|RequestHeaders)\..+|ScriptVersion\.(?:ID|Message|Tag))$/s;
/** Values in a list, which `contains` finds by the name of the list. */
const LISTED =
  /^(?:(ScriptTags)\[\d+\]|(Logs)\[\d+\]\.Message\[\d+\]|(Exceptions|LogErrors)\[\d+\]\.(?:name|message|stack)|(ExceptionStacks)\[\d+\])$/;

/** @param key of a filter; null: there is none. */
function conditionOf(path: string, key: string | null, value: unknown): Condition | null {
  if (typeof value === "object" || (typeof value === "number" && !Number.isSafeInteger(value))) return null;
  const text = String(value).slice(0, VALUE_MAX).toWellFormed();
  const isCut = text.length < String(value).length;
  const [, tags, ...texts] = LISTED.exec(path) ?? [];
  const list = tags ?? texts.find((each) => each !== undefined);
  // Of logs and exceptions, only texts are searched.
  if (list !== undefined && list !== tags && typeof value !== "string") return null;
  if (list !== undefined)
    return text === "" || (isCut && list === tags) ? null : { key: list, operator: "contains", value: text };
  if (key === null || !NAMED.test(key)) return null;
  if (isCut) return { key, operator: "contains", value: text };
  return { key, operator: "eq", value: value as Condition["value"] };
}

function addLeaves(value: unknown, path: string, key: string | null, into: Leaf[], depth = 0): void {
  if (into.length >= LEAVES_MAX || depth > DEPTH_MAX) return;
  if (typeof value !== "object" || value === null) {
    into.push({ path, text: String(value), condition: conditionOf(path, key, value) });
  } else if (Array.isArray(value)) {
    for (const [i, each] of value.entries()) addLeaves(each, `${path}[${i}]`, null, into, depth + 1);
  } else {
    for (const [name, each] of Object.entries(value)) {
      const canBeNamed = key !== null && name !== "" && !name.includes(".");
      const dot = path === "" ? "" : ".";
      addLeaves(each, `${path}${dot}${name}`, canBeNamed ? `${key}${dot}${name}` : null, into, depth + 1);
    }
  }
}

/** A valid filter, and one condition more: for it, or against it. */
export function narrowed(filter: string, { key, operator, value }: Condition, isAgainst: boolean): string {
  const node = { key, operator: isAgainst ? `!${operator}` : operator, value };
  if (filter === "") return JSON.stringify({ where: node });
  const { where } = JSON.parse(filter);
  return JSON.stringify({ where: { and: [...(where.and ?? [where]), node] } });
}

/** The values of a record, some hundred at most, each with the condition that it suggests. */
export function leavesOf(record: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  addLeaves(record, "", "", leaves);
  return leaves;
}

/**
 * The request of a record as a command for a POSIX shell. The URL is of ASCII and the quotes
 * are single, so that neither shell nor terminal reads anything in it. null: no HTTP request.
 */
export function curlOf(record: unknown): string | null {
  const [method, url] = [at(record, "Event.Request.Method"), at(record, "Event.Request.URL")];
  if (typeof method !== "string" || !/^[A-Za-z]{1,40}$/.test(method)) return null;
  if (typeof url !== "string" || !/^https?:/i.test(url) || !URL.canParse(url)) return null;
  const href = new URL(url).href
    .toWellFormed()
    .replace(/[^!-~]/gu, encodeURIComponent)
    .replaceAll("'", "'\\''");
  const verb = method === "GET" ? "" : method === "HEAD" ? " --head" : ` -X ${method}`;
  return `curl --globoff${verb} '${href}'`;
}

/**
 * Functions of the live page, too. As those of `recordTexts`, they are sent to the browser as
 * source: nothing from outside, methods only.
 */
export function recordFilters() {
  const to = {
    /** The value at a path through own properties; not into lists. */
    at(record: unknown, key: string): unknown {
      return key
        .toWellFormed()
        .split(".")
        .reduce<unknown>((value, name) => {
          const isThere =
            typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
          return isThere ? (value as Record<string, unknown>)[name] : undefined;
        }, record);
    },
  };

  return {
    /**
     * One filter of all conditions. Of what failed, the outcome is not `ok`, or there are
     * exceptions, or the status is 5xx.
     * @param filter any text: what is no filter is left alone, for its faults to be told.
     * @param outcome `failed`, or one that records have; "": any.
     */
    combined(filter: string, script: string, outcome: string): string {
      const nodes: unknown[] = [];
      if (outcome === "failed") {
        nodes.push({
          or: [
            { key: "Outcome", operator: "!eq", value: "ok" },
            { key: "Exceptions", operator: "contains", value: "" },
            { key: "Event.Response.Status", operator: "geq", value: 500 },
          ],
        });
      } else if (outcome !== "") nodes.push({ key: "Outcome", operator: "eq", value: outcome });
      if (script !== "") nodes.push({ key: "ScriptName", operator: "eq", value: script });
      if (nodes.length === 0) return filter;
      try {
        if (filter !== "") nodes.push(JSON.parse(filter).where);
      } catch {
        return filter;
      }
      return JSON.stringify({ where: nodes.length === 1 ? nodes[0] : { and: nodes } });
    },

    /** Two copies of a record have it in common, as long as both were shipped with these fields. */
    identityOf(record: unknown): string {
      const keys = [
        "EventTimestampMs",
        "ScriptName",
        "Event.RayID",
        "EventType",
        "Entrypoint",
        "WallTimeMs",
        "CPUTimeMs",
      ];
      return JSON.stringify([...keys, "Outcome"].map((key) => to.at(record, key) ?? ""));
    },

    at: to.at,
  };
}

export const { at, combined, identityOf } = recordFilters();
