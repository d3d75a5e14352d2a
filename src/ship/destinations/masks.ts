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
  return (
    path + (code === "" ? "" : MASK) + mapParameters(query, (name, value) => (isSecret(bare(name)) ? MASK : value))
  );
}

/** Puts the stored secrets where the sent text has `****`. */
export function unmaskText(sent: string, stored: string, of: SecretParts & { storedHasCode: boolean }): string {
  const secrets = new Map<string, string>();
  const known = sections(stored, of.storedHasCode);
  mapParameters(known.query, (name, value, n) => {
    if (of.isSecret(bare(name))) secrets.set(`${n} ${name}`, value);
    return value;
  });
  const { path, code, query } = sections(sent, of.hasCode);
  const isSamePath = code === MASK && path === known.path;
  // With another code it is another address.
  if (!isSamePath && code !== known.code) return sent;
  const restored = mapMasked(query, (name, value, n) => secrets.get(`${n} ${name}`) ?? value);
  return path + (isSamePath ? known.code : code) + restored;
}

/** Whether a secret in the text is masked. */
export function hasMask(text: string, { isSecret, hasCode }: SecretParts): boolean {
  const { code, query } = sections(text, hasCode);
  let found = code === MASK;
  mapMasked(query, (name, value) => {
    found ||= isSecret(bare(name));
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

/**
 * @param name percent-decoded, with its `=`; "" for a value that has none.
 * @param n counts those of one name, of which there may be several.
 */
type MapValue = (name: string, value: string, n: number) => string;

function mapMasked(query: string, map: MapValue): string {
  return mapParameters(query, (name, value, n) => (decoded(value) === MASK ? map(name, value, n) : value));
}

/**
 * Maps the values of a query, as they are written. Names are compared percent-decoded. What has no
 * value is one itself, without a name: it may be a token, in Base64 with its `=`.
 */
function mapParameters(query: string, map: MapValue): string {
  if (query === "") return "";
  const counts = new Map<string, number>();
  const pairs = query.slice(1).split("&");
  const mapped = pairs.map((pair) => {
    const [head = ""] = /^[^=]*=(?==*[^=])/.exec(pair) ?? [];
    const name = decoded(head);
    const n = counts.get(name) ?? 0;
    counts.set(name, n + 1);
    return pair === "" ? "" : head + map(name, pair.slice(head.length), n);
  });
  return `?${mapped.join("&")}`;
}

/** A name without its `=`. */
function bare(name: string): string {
  return name.slice(0, -1);
}

/** A percent-decoded text; as it is where it cannot be decoded. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
