import { createHash } from "node:crypto";
import { cut } from "../../base/bytes.ts";
import { topFrame } from "./frame.ts";
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
  return own.length <= 2 ? "Error" : cut(own, NAME_MAX);
}

/** Of errors that list what is wrong with an input, the list is no cause of its own. */
const LISTS = /valid|zod|schema/i;

/**
 * Sixteen hexadecimal digits that name a problem.
 * @param functionKey of the function, and of who sent its events.
 */
export function problemId(functionKey: string, { name, message, frame }: Cause): string {
  const said = skeletonOf(message, LISTS.test(name) ? 1 : undefined);
  // Where the code says where it was thrown, a message that is all values says nothing more.
  const text = JSON.stringify([functionKey, name, said === "" && frame === "" ? message : said, frame]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
