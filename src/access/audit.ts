import { maskDestination, maskUrl } from "../destinations/parse.ts";
import { AUDIT_BODY_MAX, AUDIT_TEXT_MAX } from "../limits.ts";

/** Keys of bodies whose values are secrets, or prove something: they are left out, wherever they stand. */
const LEFT_OUT: ReadonlySet<string> = new Set(["ownership_challenge", "value", "api_key", "secret", "password"]);

/** Keys whose values have secrets in them, and how these are masked: the path of a webhook opens things. */
const MASKED: { readonly [name: string]: (value: string) => string } = {
  destination_conf: maskDestination,
  url: maskUrl,
};

/** Deeper than any body that is accepted. */
const DEPTH_MAX = 16;

/**
 * A body as it may be remembered: destinations masked, secrets left out, long texts cut; of one that is too large all the same, only that.
 * @param body JSON that was found to be of its route's shape.
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
