/**
 * Blanks, line breaks, control characters, and what has no width or no ink (U+2800): none is part of
 * a credential, and each comes along when one is copied. https://www.unicode.org/reports/tr44/
 */
const UNSEEN = /[\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Why a text is no credential as it was issued; null: it may be one. The one rule for all that is
 * entered as a credential: of destinations, of receivers of alerts, and in secrets of the
 * deployment.
 * @param name what it is called; its value is never repeated.
 * @param mayHaveBlanks single ones may stand inside, as in `Bearer <token>`.
 */
export function blankFault(name: string, value: string, mayHaveBlanks = false): string | null {
  const text = mayHaveBlanks ? value.replaceAll(/(?<=\S) (?=\S)/g, "") : value;
  return UNSEEN.test(text) ? `${name} must not have blanks, line breaks or invisible characters` : null;
}
