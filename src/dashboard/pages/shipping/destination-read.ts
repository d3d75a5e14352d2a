import { MASK } from "../../../destinations/parse.ts";
import { CODE, type ErrorEntry } from "../../../errors.ts";
import { lines, mayBe } from "./text.ts";

/** What a form changes of a stored destination. */
export interface DestinationAsked {
  /** The new `destination_conf`; null: unchanged. */
  conf: string | null;
  challenge: string | null;
  /** What the form may show again: never a secret. */
  again: { path: string | null; conf: string };
  /** Secrets were entered. They are not shown again. */
  hadSecrets: boolean;
  faults: readonly ErrorEntry[];
}

const PARTS = /^([^:/?#]*:\/\/[^/?#]*)(?:\/([^?]*))?(?:\?(.*))?$/s;

/** The path of a `destination_conf`, as written; null: it does not parse. */
export function pathOf(conf: string): string | null {
  const match = PARTS.exec(conf);
  return match === null ? null : (match[2] ?? "");
}

/**
 * Reads the destination fields: a whole `destination_conf`, or else a new path and new keys in the
 * stored one.
 * @param masked the stored one, with secrets as `****`.
 */
export function readDestination(form: URLSearchParams, masked: string): DestinationAsked {
  const pasted = lines(form.get("destination_conf") ?? "").trim();
  const challenge = form.get("ownership_challenge")?.trim() || null;
  const keys = { id: form.get("access-key-id") ?? "", secret: form.get("secret-access-key") ?? "" };
  const path = form.get("destination-path");
  const hasKeys = keys.id !== "" || keys.secret !== "";
  const asked = { challenge, again: { path, conf: "" }, hadSecrets: hasKeys, faults: [] };
  if (pasted !== "") {
    const shows = isHarmless(pasted);
    return { ...asked, conf: pasted, again: { path, conf: shows ? pasted : "" }, hadSecrets: hasKeys || !shows };
  }
  const match = PARTS.exec(masked);
  if (match === null) return { ...asked, conf: null };
  const [, head = "", before = "", query = ""] = match;
  if (path?.includes("?") === true) return { ...asked, conf: null, faults: [QUESTION_MARK] };
  const isSame = path === null || mayBe(path, before, false);
  if (isSame && !hasKeys) return { ...asked, conf: null };
  return { ...asked, conf: `${head}/${isSame ? before : path}?${withKeys(query, keys)}` };
}

const QUESTION_MARK: ErrorEntry = {
  code: CODE.notAllowed,
  message: "the path must not contain a question mark",
  source: { pointer: "/destination_conf" },
};

const HARMLESS: ReadonlySet<string> = new Set(["account-id", "region", "endpoint", "sse", "credentials"]);

/** Whether it holds no secret. Unknown parameters count as secrets. */
export function isHarmless(conf: string): boolean {
  const [, bucket = "", path = "", query = ""] = PARTS.exec(conf) ?? [];
  // Without its question mark, the keys become part of the bucket or the path.
  if (!PARTS.test(conf) || /[&=]|key/.test(bucket) || path.includes("key")) return false;
  return [...new URLSearchParams(query)].every(([name, value]) => HARMLESS.has(name) || value === MASK);
}

/** Replaces keys in the parameters; "" keeps one. Keys and `credentials` exclude each other. */
function withKeys(query: string, { id, secret }: { id: string; secret: string }): string {
  const given = [
    ["access-key-id", id],
    ["secret-access-key", secret],
  ].filter(([, value]) => value !== "");
  const replaced = new Set([...given.map(([name]) => name), ...(given.length > 0 ? ["credentials"] : [])]);
  const kept = query.split("&").filter((pair) => pair !== "" && !replaced.has(pair.split("=", 1)[0] ?? ""));
  return [...kept, ...given.map(([name, value]) => `${name}=${encodeURIComponent((value ?? "").toWellFormed())}`)].join(
    "&",
  );
}
