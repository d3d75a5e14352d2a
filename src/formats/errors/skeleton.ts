/** So many words are read at least, whatever clauses there are, and at most. */
const LEAST = 3;
const MOST = 6;

/** Words before which a clause ends: of whom, when and why. */
const AFTERWARDS: ReadonlySet<string> = new Set(
  "for in on at by with from via per after before since during while because due".split(" "),
);

/** They say little. */
const SMALL: ReadonlySet<string> = new Set([
  ...AFTERWARDS,
  ..."a an the of to into as is are was were be been it its this that and or".split(" "),
]);

/** A name in the code, as `orders.total`, `insertOrder`, `ECONNREFUSED`; of D1: `D#_ERROR`. */
const NAME = /^(?:[A-Z]#_[A-Z_]+|[\p{Script=Latin}_$][\p{Script=Latin}\d_$]*(?:[.:][a-zA-Z_$][\w$]*)*)$/u;

/**
 * The words of a masked message that say what went wrong: those of its first clause, three to six.
 * What follows mostly says to whom, and how often it was tried. Values that no mask can tell are
 * left out by their looks: names begin with a capital within a sentence, have letters beyond ASCII,
 * or stand in one word with a number. "": the message has no such words.
 * @param masked as of `masked`. @param least so many words, whatever clauses there are.
 */
export function skeletonOf(masked: string, least = LEAST): string {
  if (FOREIGN.test(masked)) return (masked.split(/[(（:：,、。;]/)[0] ?? "").trim();
  return wordsOf(masked.replace(/\{[^}]*\}/g, "#"), least) || (CODE.test(masked) ? masked : "");
}

/** A code for a message: `not-found`, `auth/wrong-password`. */
const CODE = /^[a-z]+(?:[-/][a-z]+)+$/;

/** It begins with a letter of another script: its first clause says what it is about. */
const FOREIGN =
  /^\P{L}*[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thai}\p{Script=Greek}\p{Script=Devanagari}]/u;

const MONEY =
  /^(?:USD|EUR|GBP|JPY|CHF|CNY|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|INR|BRL|MXN|ZAR|KRW|SGD|HKD|THB|IDR|ILS|UAH)$/;

function wordsOf(masked: string, least: number): string {
  const words: string[] = [];
  let begins = true;
  const tokens = masked.split(" ");
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1] ?? "";
    const isNewClause = (token.startsWith("(") && !next.startsWith("'")) || AFTERWARDS.has(token);
    if (words.length >= least && isNewClause) break;
    const [, opened = "", word = "", closed = ""] = /^([("[]*)(.*?)([)\]"]*[,:;.!?)]*)$/.exec(token) ?? [];
    words.push(...saidBy(word, begins || opened !== ""));
    if (words.length >= MOST || (words.length >= least && closed !== "")) break;
    begins = /[.:!?]$/.test(closed) && word.length > 1;
  }
  return words.join(" ");
}

/** The word; none: it is a value, or small. */
function saidBy(word: string, begins: boolean): string[] {
  if (/^(?:'[^']+'|[45]xx)$/.test(word)) return [word];
  if (word.length < 2 || MONEY.test(word) || SMALL.has(word.toLowerCase()) || !NAME.test(word)) return [];
  const isName = !begins && /^\p{Lu}\p{Ll}/u.test(word) && !/[._$]|(?:Error|Exception)$/.test(word);
  return isName ? [] : [word];
}
