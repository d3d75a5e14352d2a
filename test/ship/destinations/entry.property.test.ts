import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinConf } from "../../../src/ship/destinations/conf.ts";
import type { FormField } from "../../../src/ship/destinations/destination-form.ts";
import {
  blamedOf,
  buildDestination,
  type DestinationEntry,
  emptyEntry,
  entryOf,
  formOf,
  missingOf,
  requireForm,
  sharesSecrets,
  shownOf,
  withoutMasks,
  withoutSecrets,
  withSecretsOf,
} from "../../../src/ship/destinations/entry.ts";
import { FORMS, KINDS } from "../../../src/ship/destinations/kinds.ts";
import { isMasked, MASK, maskDestination, parseDestination, parsePlace } from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION } from "./context.ts";
import { FIXTURES, SECRETS } from "./kinds.ts";
import { RECEIVERS } from "./receivers.ts";

/** What people paste into forms, and what marks the ends of things in a destination. */
const text = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom("&", "=", "?", "#", "+", "%", "/", " ", "*", "%41", "{DATE}", "ü", "😀"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    ),
    minLength: 1,
    maxLength: 12,
  })
  .filter((value) => value !== MASK);

/** A destination of each kind, as its contract suite has it, and some that hold more. */
const CONFS: readonly string[] = [
  ...[...Object.values(FIXTURES), ...Object.values(RECEIVERS)].map(({ conf }) => conf),
  "s3://traces?region=auto&endpoint=store.example&credentials=env:DEST_ARCHIVE",
  `https://logs.example?b=x+y&b=z%2B&header_X-B=a%20b&c&header_authorization=Basic%20${SECRETS[0]}`,
  `elastic://es.example/traces?pipeline=a%2Bb&header_X-Elastic-Client=c&header_Authorization=Bearer%20${SECRETS[0]}`,
];

const fieldsOf = (id: string): FormField[] =>
  requireForm({ form: id }).parts.flatMap((part) =>
    "ways" in part ? part.ways.flatMap(({ fields }) => fields) : part,
  );

/** Whether it is of the way that an entry goes. */
const isChosen = ({ form, values }: DestinationEntry, field: FormField): boolean =>
  requireForm({ form }).parts.every(
    (part) =>
      !("ways" in part) ||
      part.ways.every(({ fields, value }) => !fields.includes(field) || value === values[part.name]),
  );

const read = (conf: string): DestinationEntry => {
  const entry = entryOf(conf, PRODUCTION);
  if (!entry.ok) throw new Error(entry.why);
  return entry.value;
};
const built = (entry: DestinationEntry): string => {
  const conf = buildDestination(entry);
  if (!conf.ok) throw new Error(conf.why);
  return conf.value;
};
/** A binding is there in some contexts alone: its place is all that a string says. */
const parsed = (conf: string): unknown => {
  const destination = parseDestination(conf, PRODUCTION);
  if (destination.ok) return destination.value;
  const place = parsePlace(conf, PRODUCTION);
  if (!conf.startsWith("binding://") || !place.ok) throw new Error(destination.why);
  return place.value;
};

describe("forms", () => {
  it("are there for each scheme, with names of their own", () => {
    for (const scheme of KINDS.flatMap(({ schemes }) => schemes)) expect(formOf(scheme)).not.toBeNull();
    expect(new Set(FORMS.map(({ id }) => id)).size).toBe(FORMS.length);
    for (const { id, parts, name, about, start, owns } of FORMS) {
      const names = [
        ...fieldsOf(id).map((field) => field.name),
        ...parts.flatMap((part) => ("ways" in part ? part.name : [])),
      ];
      expect(new Set(names).size).toBe(names.length);
      for (const each of names) expect(each).toMatch(/^[a-z0-9_]+$/);
      expect([name, about]).toEqual([expect.stringMatching(/\S/), expect.stringMatching(/\S\.$/)]);
      const [scheme = ""] = start.split("://");
      expect(KINDS.some(({ schemes }) => schemes.includes(scheme))).toBe(true);
      expect(owns({ scheme: "no-scheme", authority: "", path: "", query: "" })).toBe(false);
    }
  });
});

describe.each(CONFS)("the form of %s", (conf) => {
  it("reads a string, and writes the same one", () => {
    expect(built(read(conf))).toBe(conf);
    expect(built(read(maskDestination(conf)))).toBe(maskDestination(conf));
    expect(missingOf(read(conf))).toEqual({});
  });

  it("makes the same destination from what an empty one is filled in with", () => {
    const { form, values } = read(conf);
    const empty = emptyEntry(requireForm({ form }), { accountId: "a1" });
    const filled = { ...empty, values };
    expect(read(built(filled)).values).toEqual(values);
    const [one, other] = [parsePlace(conf, PRODUCTION), parsePlace(built(filled), PRODUCTION)];
    if (!one.ok || !other.ok) throw new Error("no place");
    // `r2` is another name of `objstore`, and a parameter may be spelled in another way.
    expect({ ...other.value, endpoint: other.value.endpoint.host }).toEqual({
      ...one.value,
      scheme: other.value.scheme,
      endpoint: one.value.endpoint.host,
    });
  });

  it("shows no secret, and takes masked ones back from what is stored", () => {
    const entry = read(conf);
    const masked = read(maskDestination(conf));
    const shown = fieldsOf(entry.form).map((field) => [field.name, shownOf(field, entry)]);
    for (const secret of SECRETS) {
      expect(JSON.stringify(shown)).not.toContain(secret);
      expect(built(withoutSecrets(entry))).not.toContain(secret);
    }
    // The order of parameters and headers may be another one.
    expect(parsed(built(withSecretsOf(masked, entry)))).toEqual(parsed(conf));
    const sent = { ...entry.values, ...Object.fromEntries(shown) };
    expect(built(withSecretsOf({ ...entry, values: sent }, entry))).toBe(conf);
    expect(built(withSecretsOf({ ...masked, values: sent }, masked))).toBe(maskDestination(conf));
    if (!isMasked(maskDestination(conf))) return;
    const none = Object.fromEntries(Object.keys(entry.values).map((name) => [name, ""]));
    expect([sharesSecrets(entry, entry), sharesSecrets({ ...entry, values: none }, entry)]).toEqual([true, false]);
    expect(isMasked(built(withSecretsOf(withoutMasks(masked), withoutSecrets(entry))))).toBe(
      fieldsOf(entry.form).some(({ at, name }) => at.masks !== undefined && masked.values[name]?.includes(MASK)),
    );
  });

  it("holds what is entered in its field, and changes no other", () => {
    const entry = read(conf);
    fc.assert(
      fc.property(fc.constantFrom(...fieldsOf(entry.form)), text, (field, value) => {
        if (field.choices !== undefined || field.kind !== undefined || !isChosen(entry, field)) return;
        const changed = buildDestination({ ...entry, values: { ...entry.values, [field.name]: value } });
        if (!changed.ok) {
          expect(changed.why).toMatch(/^[\x20-\x7e]{5,200}$/);
          return;
        }
        const again = entryOf(changed.value, PRODUCTION);
        if (!again.ok) return;
        for (const { name } of fieldsOf(entry.form)) {
          const same =
            name === field.name ? [value, value.trim(), value.replace(/^\/+|\/+$/g, "")] : [entry.values[name]];
          // A text of several parts is spelled in its own way.
          if (name !== field.name || field.at.masks === undefined) expect(same).toContain(again.value.values[name]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is about a field where a fault names it", () => {
    const { form } = read(conf);
    for (const field of fieldsOf(form))
      for (const claim of field.at.claims) {
        if (claim === "tls") continue;
        const words = `${claim.replace("header_", "header ")} must be printable ASCII`;
        expect([claim, blamedOf({ form }, words)]).toEqual([claim, field.name]);
      }
    expect(blamedOf({ form }, "unknown scheme")).toBeNull();
  });
});

describe("a bucket and its keys", () => {
  const keys = { credentials: "keys", access_key_id: "key-id", secret_access_key: "a/b+c=&d" };
  const s3 = (values: Record<string, string>): DestinationEntry => ({
    form: "s3",
    base: "s3://",
    values: { bucket: "traces", path: "", region: "auto", endpoint: "store.example", sse: "", ...keys, ...values },
  });

  it("never make one destination of what was meant as another: what would end a part of it is refused", () => {
    let read = 0;
    fc.assert(
      fc.property(text, text, text, (bucket, path, secret) => {
        for (const values of [
          { bucket, path },
          { path, secret_access_key: secret },
        ]) {
          const entry = s3(values);
          const conf = buildDestination(entry);
          if (!conf.ok) continue;
          const destination = parseDestination(conf.value, PRODUCTION);
          if (!destination.ok) continue;
          read += 1;
          expect(destination.value).toMatchObject({
            bucket: entry.values.bucket,
            path: path.replace(/^\/+|\/+$/g, ""),
            credentials: { accessKeyId: "key-id", secretAccessKey: entry.values.secret_access_key },
          });
        }
      }),
    );
    expect(read).toBeGreaterThan(20);
  });

  it("name the secret of the deployment instead of keys, which are not sent", () => {
    const entry = s3({ credentials: "env", secret_name: "DEST_STORE" });
    const conf = "s3://traces/?region=auto&endpoint=store.example&credentials=env%3ADEST_STORE";
    expect(buildDestination(entry)).toEqual({ ok: true, value: conf });
    expect(read(conf).values).toMatchObject({ credentials: "env", secret_name: "DEST_STORE", access_key_id: "" });
  });

  it("are nothing where a text is half a surrogate pair", () => {
    expect(buildDestination(s3({ secret_access_key: "\ud800" }))).toEqual({
      ok: false,
      why: "this is not well-formed text",
    });
  });
});

describe("a receiver", () => {
  it("takes a token with the word before it, or a whole header", () => {
    const entry = emptyEntry(requireForm({ form: "elastic" }), { accountId: "" });
    const header = (authorization: string): unknown => {
      const values = { ...entry.values, address: "https://es.example:9243/", path: "traces", authorization };
      return (parsed(built({ ...entry, values })) as { credentials: { options: { headers: Map<string, string> } } })
        .credentials.options.headers;
    };
    expect(header("abc=")).toEqual(new Map([["authorization", "ApiKey abc="]]));
    expect(header("Basic abc=")).toEqual(new Map([["authorization", "Basic abc="]]));
    expect(header("")).toEqual(new Map());
  });

  it("keeps a header line that is masked, drops one that is gone, and refuses one that is none", () => {
    const stored = read(`https://a.example/in?header_X-One=1&header_X-Two=2&header_X-Three=3`);
    const sent = { ...stored, values: { ...stored.values, headers: "x-two: ****\nX-Four: f: 4" } };
    expect(built(withSecretsOf(sent, stored))).toBe("https://a.example/in?header_X-Two=2&header_X-Four=f%3A%204");
    expect(buildDestination({ ...stored, values: { ...stored.values, headers: "no colon" } })).toMatchObject({
      ok: false,
    });
  });

  it("is told plain http by its URL", () => {
    expect(joinConf({ scheme: "https", authority: "localhost:1", path: "in", query: "tls=off" })).toBe(
      "https://localhost:1/in?tls=off",
    );
    const entry = emptyEntry(requireForm({ form: "https" }), { accountId: "" });
    const of = (url: string): string => built({ ...entry, values: { ...entry.values, url } });
    expect([of("http://localhost:1/in?a=b"), of("https://a.example/in"), of("a.example")]).toEqual([
      "https://localhost:1/in?a=b&tls=off",
      "https://a.example/in",
      "https://a.example/",
    ]);
  });
});
