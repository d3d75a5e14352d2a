import { MASK } from "../masks.ts";
import type { Options, Verdict } from "./receiver.ts";

/** What is kept of an answer's text beside what it refused, in characters. */
const SAID_MAX = 300;

/** What is shorter is no credential, and may be any word. */
const CREDENTIAL_MIN = 6;

/**
 * A verdict with the text of its answer, for who may read the records that were refused: a receiver
 * often says no more than there why. It is a stranger's: one line, bounded, and whatever a request
 * carried besides records is masked in it.
 */
export function withText(verdict: Verdict, text: string, { path, parameters, headers }: Options): Verdict {
  if (verdict.kind === "taken") return verdict;
  const carried = [...headers.values(), ...parameters.values(), ...path.split("/")].flatMap((value) =>
    value.split(" "),
  );
  const secrets = carried.filter(({ length }) => length >= CREDENTIAL_MIN).sort((a, b) => b.length - a.length);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
  let line = text.slice(0, 10 * SAID_MAX).replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]+/g, " ");
  for (const secret of secrets) line = line.replaceAll(secret, MASK);
  const said = line.trim().slice(0, SAID_MAX).toWellFormed();
  if (said === "") return verdict;
  return verdict.kind === "partly" ? { ...verdict, said } : { ...verdict, error: { ...verdict.error, said } };
}
