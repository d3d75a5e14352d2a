import { MASK } from "../../../destinations/parse.ts";
import { CODE, type ErrorEntry } from "../../../errors.ts";
import { lines, mayBe } from "./text.ts";

/** What a form asks of a destination that there is already. */
export interface DestinationAsked {
  /** To be sent; null: it stays as it is. */
  conf: string | null;
  challenge: string | null;
  /** What may be shown again of it: never a secret. */
  again: { path: string | null; conf: string };
  /** Secrets were entered, which no page shows again. */
  hadSecrets: boolean;
  faults: readonly ErrorEntry[];
}

const PARTS = /^([^:/?#]*:\/\/[^/?#]*)(?:\/([^?]*))?(?:\?(.*))?$/s;

/** The path of a `destination_conf`, as it is written there; null: it is none. */
export function pathOf(conf: string): string | null {
  const match = PARTS.exec(conf);
  return match === null ? null : (match[2] ?? "");
}

/**
 * Reads the fields of a destination: a whole `destination_conf` if there is one, else another path and other keys in the one there is.
 * @param masked the one there is, as the API shows it to a page.
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
  message: "the path cannot have a question mark in it: parameters begin there",
  source: { pointer: "/destination_conf" },
};

const HARMLESS: ReadonlySet<string> = new Set(["account-id", "region", "endpoint", "sse", "credentials"]);

/** Whether nothing in it can be a secret: what is not known to be none counts as one. */
export function isHarmless(conf: string): boolean {
  const [, bucket = "", path = "", query = ""] = PARTS.exec(conf) ?? [];
  // Without its question mark, or with another character in its place, the keys are part of something else.
  if (!PARTS.test(conf) || /[&=]|key/.test(bucket) || path.includes("key")) return false;
  return [...new URLSearchParams(query)].every(([name, value]) => HARMLESS.has(name) || value === MASK);
}

/** Parameters with other keys; one that is "" stays. Keys take the place of `credentials`, beside which there are none. */
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
