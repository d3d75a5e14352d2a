/** Removes texts that vary: positions in built files, and the framework's encoding of arguments. */

/**
 * Replaces the lines of a stack by one, `\n at …`, and the arguments in the URL of a server
 * function by `…`.
 */
export function withoutPlaces(record: unknown): unknown {
  return JSON.parse(JSON.stringify(record), (key, value) => {
    if (typeof value !== "string") return value;
    if (key === "URL") return value.replace(/(\/_serverFn\/REDACTED\?payload=)[^&]+/, "$1…");
    // As plain text, and within JSON.
    return value.replace(/(?:\n {4}at [^\n]+)+/g, "\n    at …").replace(/(?:\\n {4}at [^\\"]+)+/g, "\\n    at …");
  });
}
