/** Texts that are not ours to expect word by word: where in a built file something happened, and what the framework makes of an argument. */

/** Lines of a stack become one, `\n    at …`; the arguments in the URL of a server function become `…`. */
export function withoutPlaces(record: unknown): unknown {
  return JSON.parse(JSON.stringify(record), (key, value) => {
    if (typeof value !== "string") return value;
    if (key === "URL") return value.replace(/(\/_serverFn\/REDACTED\?payload=)[^&]+/, "$1…");
    // As they are, and within JSON.
    return value.replace(/(?:\n {4}at [^\n]+)+/g, "\n    at …").replace(/(?:\\n {4}at [^\\"]+)+/g, "\\n    at …");
  });
}
