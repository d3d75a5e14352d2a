import { type FormRead, type Options, optionsOf, type ShippingBody, withOptions } from "./body.ts";
import { LIMITS, shownText, TEXTS } from "./output-fields.ts";
import { escaped, lines, mayBe, unescaped } from "./text.ts";

/** Reads what `OutputForm` sent. What was not touched stays as it was, and what was never said stays unsaid. */
export function readOutputForm(form: URLSearchParams, before: ShippingBody): FormRead {
  if (!form.has("output-was")) return { body: before, again: false };
  const body = { ...withOptions(before, readOptions(form, optionsOf(before))) };
  const name = form.get("name") ?? "";
  if (!mayBe(name, before.name ?? "", false)) body.name = name;
  for (const key of ["enabled", "canary"] as const) {
    if (form.has(key) !== (before[key] === true)) body[key] = form.has(key);
  }
  for (const { key } of LIMITS) {
    const sent = form.get(key)?.trim() ?? "";
    const limit = sent === "" ? 0 : Number.isNaN(Number(sent)) ? sent : Number(sent);
    if (limit !== (before[key] || 0)) body[key] = limit;
  }
  return { body, again: false };
}

function readOptions(form: URLSearchParams, before: Options): Options {
  const options: Options = { ...before };
  // What a browser sends is one of those that it was offered; what something else sends is for the API to judge.
  const type = (form.get("output_type") ?? "ndjson") as "ndjson";
  if (type !== (before.output_type ?? "ndjson")) options.output_type = type;
  const format = (form.get("timestamp_format") ?? "unixnano") as "unixnano";
  if (format !== (before.timestamp_format ?? "unixnano")) options.timestamp_format = format;
  const escapes = form.has("CVE-2021-44228");
  if (escapes !== (before["CVE-2021-44228"] === true)) options["CVE-2021-44228"] = escapes;
  for (const text of TEXTS) {
    // A default that was shown, and nobody touched, is none that was said: it follows the type that the form was made with, whatever is chosen now.
    const sent = form.get(text.option);
    const was = before[text.option];
    const shown = was == null ? shownText({}, text, form.get("output-was") ?? "ndjson") : escaped(was);
    if (sent !== null && sent !== shown) options[text.option] = unescaped(sent);
  }
  const template = form.get("record_template");
  if (template !== null && !mayBe(template, before.record_template ?? "", true))
    options.record_template = lines(template);
  return options;
}
