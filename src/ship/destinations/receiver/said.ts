import { MASK } from "../masks.ts";
import type { Options, Verdict } from "./receiver.ts";

/** What is kept of an answer's text beside what it refused, in characters. */
const SAID_MAX = 300;

/** Of so much text: many long credentials may stand before what is kept. */
const READ_MAX = 100_000;

/** What is shorter is no credential, and may be any word. */
const CREDENTIAL_MIN = 6;

/**
 * A verdict with the text of its answer, for who may read the records that were refused: a receiver
 * often says no more than there why. It is a stranger's: one line, bounded, and whatever a request
 * carried besides records is masked in it, however it is escaped.
 */
export function withText(verdict: Verdict, text: string, { path, parameters, headers }: Options): Verdict {
  if (verdict.kind === "taken") return verdict;
  const carried = [...headers.values()].flatMap((value) => [...value.split(" "), ...loginIn(value)]);
  for (const value of [...parameters.values(), ...path.split("/")]) carried.push(value, ...value.split(" "));
  const secrets = carried.filter(({ length }) => length >= CREDENTIAL_MIN).sort((a, b) => b.length - a.length);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
  let line = text.slice(0, READ_MAX).replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]+/g, " ");
  for (const secret of new Set(secrets)) line = line.replace(spellingsOf(secret), MASK);
  const said = line.trim().slice(0, SAID_MAX).toWellFormed();
  if (said === "") return verdict;
  return verdict.kind === "partly" ? { ...verdict, said } : { ...verdict, error: { ...verdict.error, said } };
}

/** User and password of Basic authentication, together, and the password; of all else nothing. */
function loginIn(value: string): string[] {
  const [, packed = ""] = /^Basic +([A-Za-z0-9+/_-]+)=*$/i.exec(value) ?? [];
  const login = Buffer.from(packed, "base64").toString();
  return login.includes(":") ? [login, login.slice(login.indexOf(":") + 1)] : [];
}

/** A text as it is, and as URLs, JSON and HTML have it. */
function spellingsOf(secret: string): RegExp {
  const spelled = Array.from(secret.toWellFormed(), (character) => {
    if (/[A-Za-z0-9]/.test(character)) return character;
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    const inUrl = Array.from(new TextEncoder().encode(character), (byte) => `%${byte.toString(16).padStart(2, "0")}`);
    const own = character === " " ? "[ +]" : `\\u{${hex}}`;
    return `(?:\\\\?${own}|${inUrl.join("")}|\\\\u${hex.padStart(4, "0")}|&#(?:x0*${hex}|0*${character.codePointAt(0)});|&[a-z]{2,6};)`;
  });
  return new RegExp(spelled.join(""), "giu");
}
