import { AUDIT_BODY_MAX, AUDIT_TEXT_MAX } from "../../base/limits.ts";
import { maskDestination, maskUrl } from "../../ship/destinations/parse.ts";

/** Keys whose values are secrets or proofs: left out at any depth. */
const LEFT_OUT: ReadonlySet<string> = new Set(["ownership_challenge", "value", "api_key", "secret", "password"]);

/**
 * Keys whose values contain secrets, and how these are masked. The path of a webhook is a secret,
 * too.
 */
const MASKED: { readonly [name: string]: (value: string) => string } = {
  destination_conf: maskDestination,
  url: maskUrl,
  // Of a receiver of alerts; of e-mail it is the recipient.
  address: (value) => (/^[^/:@]+@[^/:@]+$/.test(value) ? value : maskUrl(value)),
};

/** Deeper than any accepted body. */
const DEPTH_MAX = 16;

/**
 * A body as the audit keeps it: destinations masked, secrets left out, long texts cut. If it is
 * still too large, only that is kept.
 * @param body JSON that has been checked against its route's schema.
 */
export function forAudit(body: unknown): unknown {
  const kept = withoutSecrets(body, 0);
  return JSON.stringify(kept).length <= AUDIT_BODY_MAX ? kept : { left_out: `more than ${AUDIT_BODY_MAX} characters` };
}

function withoutSecrets(body: unknown, depth: number): unknown {
  if (typeof body === "string") return cut(body);
  if (typeof body !== "object" || body === null) return body;
  if (depth >= DEPTH_MAX) return null;
  if (Array.isArray(body)) return body.map((each) => withoutSecrets(each, depth + 1));
  return Object.fromEntries(
    Object.entries(body)
      .filter(([name, value]) => value !== undefined && !LEFT_OUT.has(name))
      .map(([name, value]) => [
        name,
        typeof value === "string" && Object.hasOwn(MASKED, name)
          ? cut(MASKED[name]?.(value) ?? "")
          : withoutSecrets(value, depth + 1),
      ]),
  );
}

function cut(text: string): string {
  return text.length <= AUDIT_TEXT_MAX ? text : `${text.slice(0, AUDIT_TEXT_MAX).toWellFormed()}…`;
}
