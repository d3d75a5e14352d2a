/** Also what has no width, or no ink (U+2800). https://www.unicode.org/reports/tr44/ */
const UNSEEN = /[\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * What no credential has, and comes along when one is copied: the one rule for all that are
 * entered. @param name what it is called; its value is never repeated. null: it may be one.
 * @param mayHaveBlanks single ones may stand inside.
 */
export function blankFault(name: string, value: string, mayHaveBlanks = false): string | null {
  const text = mayHaveBlanks ? value.replaceAll(/(?<=\S) (?=\S)/g, "") : value;
  return UNSEEN.test(text) ? `${name} must not have blanks, line breaks or invisible characters` : null;
}
