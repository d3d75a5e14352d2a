import type { Terms } from "../destination.ts";
import {
  address,
  type DestinationForm,
  type FormField,
  FURTHER_HEADERS,
  HOST,
  header,
  PATH,
  parameter,
} from "../destination-form.ts";
import type { Receiver } from "./receiver.ts";

/** In local development: plain http to a local host. */
export const PLAIN_HTTP = "tls";

/**
 * Whether the value of a parameter is shown: it is one of the receiver's, and no secret. What a
 * user has made up may be one, whatever its name, and so is every header.
 */
export function isShownBy({ parameters = [], own = [], secret = [], harmless = [] }: Receiver, name: string): boolean {
  const known = [...(parameters === "any" ? harmless : parameters), ...own, PLAIN_HTTP];
  return known.includes(name) && !secret.includes(name);
}

/** What a receiver promises, and what a job has to keep to. */
export function receiverTerms({ id, takes, probe }: Receiver): Terms {
  const shows = probe !== undefined && "body" in probe ? "nothing" : "record";
  return { repeats: { once: false, id }, ...takes, isReadable: false, shows };
}

/** The form of a receiver: what it asks for, then parameters and headers that have no field. */
export function receiverForm(receiver: Receiver): DestinationForm {
  const { scheme, isAt, name, parameters = [], secret = [], hasSecretPath = false, probe = {} } = receiver;
  const asks = receiver.asks ?? { about: `\`${scheme}://\`, with a URL.`, fields: [url({ hasCode: hasSecretPath })] };
  const claimed = new Set(asks.fields.flatMap(({ at }) => at.claims));
  const known = [...(parameters === "any" ? [] : parameters), ...secret];
  const others = [...new Set(known)].filter((each) => !claimed.has(each.toLowerCase()));
  return {
    id: isAt === undefined ? scheme : slug(asks.name ?? name),
    group: "receiver",
    name: asks.name ?? name,
    about: asks.about,
    start: `${scheme}://${asks.start ?? ""}`,
    terms: receiverTerms(receiver),
    ...("body" in probe && { testLeavesNothing: true }),
    owns: ({ scheme: given, authority, path: at }) =>
      given === scheme && (isAt === undefined || isAt(hostOf(authority), `/${at}`)),
    parts: [
      ...asks.fields,
      ...others.map((each) => ({
        ...text(each, { label: each, isSecret: secret.includes(each) }),
        isFurther: true as const,
      })),
      // Where anything may be asked for, the headers say who sends it.
      parameters === "any" ? { ...HEADERS, label: "Headers" } : { ...HEADERS, isFurther: true },
    ],
  };
}

/** As a URL has it: `LOG%2Dapi.example:443` is `log-api.example`. */
export function hostOf(authority: string): string {
  return URL.canParse(`https://${authority}`) ? new URL(`https://${authority}`).hostname : "";
}

type Words = Partial<Pick<FormField, "at" | "label" | "hint" | "missing" | "initial" | "choices" | "isSecret">>;

const HEADERS: FormField = {
  name: "headers",
  label: "Further headers",
  hint: "One per line: `Name: value`. Values are stored encrypted, and shown as `****`; leave `****` to keep a value.",
  at: FURTHER_HEADERS,
  kind: "lines",
  blamed: /^(?:each further header|the header|a header's name|header)\b/,
};

/** The host, or one of several. */
export function host(words: Words = {}): FormField {
  const {
    label = "Address",
    missing = "Enter the address.",
    initial = words.choices?.[0]?.value ?? "",
    ...more
  } = words;
  return { name: "address", at: HOST, blamed: /^the address\b/, label, missing, initial, ...more };
}

/** Its whole path. */
export function path(words: Words = {}): FormField {
  return { name: "path", label: "Path", at: PATH, blamed: /^the path\b/, ...words };
}

/** `hasCode`: the end of the path is a secret. `harmless`: parameters that are shown. */
type UrlWords = Words & { hasCode?: boolean; harmless?: readonly string[] };

/** Host, path and parameters in one. */
export function url({ hasCode = false, harmless = [], ...words }: UrlWords = {}): FormField {
  const { label = "URL", missing = "Enter the URL.", hint = URL_HINT, ...more } = words;
  const at = address({ isSecret: (name) => !harmless.includes(name), hasCode });
  return { name: "url", at, blamed: /^(?:the address|the path|a parameter)\b/, label, missing, hint, ...more };
}

const URL_HINT =
  "Such as `https://logs.example/in?team=a`. The path is shown; of parameters, only such as `team` and `index`.";

/** A header that holds a secret. @param prefix stands before what is entered: `Bearer `. */
export function secretHeader(name: string, { prefix = "", ...words }: Words & { prefix?: string } = {}): FormField {
  return { name: slug(name), label: name, at: header(name, prefix), isSecret: true, ...words };
}

/** A parameter. @param words.isSecret it is never shown. */
export function text(name: string, words: Words = {}): FormField {
  return { name: slug(name), label: name, at: parameter(name), ...words };
}

function slug(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "_");
}
