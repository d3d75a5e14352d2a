/** Secrets inside a text of the shape `<…>/<code>?<name>=<value>&…`. */

/** Stands for a secret where it is not shown, and for "as it was" where it is sent. */
export const MASK = "****";

/** Which parts of a text are secrets. */
export interface SecretParts {
  /** Whether the value of this parameter is one. */
  isSecret(parameter: string): boolean;
  /** The last segment of the path is one. */
  hasCode: boolean;
}

/** The text with `****` for every secret. */
export function maskText(text: string, { isSecret, hasCode }: SecretParts): string {
  const { path, code, query } = sections(text, hasCode);
  return path + (code === "" ? "" : MASK) + mapParameters(query, (name, value) => (isSecret(name) ? MASK : value));
}

/** Puts the stored secrets where the sent text has `****`. */
export function unmaskText(sent: string, stored: string, of: SecretParts & { storedHasCode: boolean }): string {
  const secrets = new Map<string, string>();
  const known = sections(stored, of.storedHasCode);
  mapParameters(known.query, (name, value) => {
    if (of.isSecret(name)) secrets.set(name, value);
    return value;
  });
  const { path, code, query } = sections(sent, of.hasCode);
  const isSamePath = code === MASK && path === known.path;
  // With another code it is another address.
  if (!isSamePath && code !== known.code) return sent;
  return path + (isSamePath ? known.code : code) + mapMasked(query, (name, value) => secrets.get(name) ?? value);
}

/** Whether a secret in the text is masked. */
export function hasMask(text: string, { isSecret, hasCode }: SecretParts): boolean {
  const { code, query } = sections(text, hasCode);
  let found = code === MASK;
  mapMasked(query, (name, value) => {
    found ||= isSecret(name);
    return value;
  });
  return found;
}

/**
 * A text up to its query, without a code that is the end of its path; that code, or ""; and its
 * query, with the `?`.
 */
function sections(text: string, hasCode: boolean): { path: string; code: string; query: string } {
  const at = text.indexOf("?");
  const whole = at === -1 ? text : text.slice(0, at);
  const query = at === -1 ? "" : text.slice(at);
  const cut = hasCode ? whole.lastIndexOf("/") + 1 : whole.length;
  return { path: whole.slice(0, cut), code: whole.slice(cut), query };
}

function mapMasked(query: string, map: (name: string, value: string) => string): string {
  return mapParameters(query, (name, value) => (decoded(value) === MASK ? map(name, value) : value));
}

/** Maps the values of a query, as they are written. Names are compared percent-decoded. */
function mapParameters(query: string, map: (name: string, value: string) => string): string {
  if (query === "") return "";
  const pairs = query.slice(1).split("&");
  const mapped = pairs.map((pair) => {
    const at = pair.indexOf("=");
    return at === -1 ? pair : `${pair.slice(0, at)}=${map(decoded(pair.slice(0, at)), pair.slice(at + 1))}`;
  });
  return `?${mapped.join("&")}`;
}

/** A percent-decoded text; as it is where it cannot be decoded. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
