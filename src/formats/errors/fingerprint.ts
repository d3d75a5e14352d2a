import { createHash } from "node:crypto";
import { cut } from "../../base/bytes.ts";
import { SHORT, topFrame } from "./frame.ts";
import { masked } from "./mask.ts";
import { skeletonOf } from "./skeleton.ts";

/** Longest name of an error, in UTF-16 code units. */
export const NAME_MAX = 60;

/** What makes errors of a function one problem. */
export interface Cause {
  /** Of the error, `HTTP <status>`, or the outcome. */
  name: string;
  /** As of {@link masked}. */
  message: string;
  /** As of {@link topFrame}. */
  frame: string;
}

/** The cause of an error, whether it was thrown, or logged and survived. */
export function causeOf(error: { name: string; message: string; stack: string }): Cause {
  const name = nameOf(error.name);
  const said = error.message.replace(/^Uncaught (?:\(in promise\) ?)?/, "");
  const prefix = `${error.name}: `;
  const message = error.name !== "" && said.startsWith(prefix) ? said.slice(prefix.length) : said;
  return { name, message: masked(message), frame: topFrame(error.stack) };
}

/** Without what bundlers add; a minifier's name of a class says nothing. */
function nameOf(name: string): string {
  const own = name.replace(/^_+(?=[A-Z])|(?<=Error|Exception)\d+$/g, "");
  return own === "" || SHORT.test(own) ? "Error" : cut(own, NAME_MAX);
}

/** Of errors that list what is wrong with an input, the list is no cause of its own. */
const LISTS = /valid|zod|schema/i;

/**
 * What errors of one problem have in common, wherever they were thrown.
 * @param functionKey of the function, and of who sent its events.
 */
export function kinOf(functionKey: string, { name, message }: Cause): string {
  const said = skeletonOf(message, LISTS.test(name) ? 1 : undefined);
  return JSON.stringify([functionKey, name, said]);
}

/** Sixteen hexadecimal digits that name a problem. Who changes them sees to `IDS_STEP`. */
export function problemId(functionKey: string, cause: Cause): string {
  const text = JSON.stringify([kinOf(functionKey, cause), cause.frame]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** A problem, as {@link sameAs} compares it. */
export interface Known extends Cause {
  id: string;
  functionKey: string;
  count: number;
}

/**
 * The same error often comes with a stack and without one: from another path, of a version that was
 * built otherwise, or cut off. What has no frame counts with its kin that has one.
 * @returns by id, the problem with which another one counts; of several, the most frequent.
 */
export function sameAs(problems: readonly Known[]): ReadonlyMap<string, string> {
  const named = ({ functionKey, name }: Known): string => `${functionKey}\n${name}`;
  const bare = problems.filter(({ frame }) => frame === "");
  // Of most, nothing is without a frame: what a message says is found out of few.
  const asked = new Set(bare.map(named));
  const framed = new Map<string, Known>();
  for (const each of problems) {
    if (each.frame === "" || !asked.has(named(each))) continue;
    const kin = kinOf(each.functionKey, each);
    if ((framed.get(kin)?.count ?? -1) < each.count) framed.set(kin, each);
  }
  const withFrame = new Set([...framed.values()].map(named));
  return new Map(
    bare.flatMap((each) => {
      const kin = withFrame.has(named(each)) ? framed.get(kinOf(each.functionKey, each)) : undefined;
      return kin === undefined ? [] : [[each.id, kin.id]];
    }),
  );
}
