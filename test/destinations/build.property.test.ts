import * as fc from "fast-check";
import { expect, it } from "vitest";
import { buildDestination, type DestinationEntry, entryOf } from "../../src/destinations/build.ts";
import { MASK, maskDestination, parseDestination } from "../../src/destinations/parse.ts";
import { PRODUCTION } from "./context.ts";

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
const keyId = fc.stringMatching(/^[!-~]{1,12}$/).filter((value) => value !== MASK);
const path = text.map((value) => value.replaceAll("?", "").replace(/^\/+|\/+$/g, ""));

const place = fc.oneof(
  fc.record({
    scheme: fc.constantFrom("objstore" as const, "r2" as const),
    accountId: fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/),
    region: fc.constant(""),
    endpoint: fc.constant(""),
    sse: fc.constant(false),
  }),
  fc.record({
    scheme: fc.constant("s3" as const),
    accountId: fc.constant(""),
    region: fc.stringMatching(/^[a-z0-9-]{1,12}$/),
    endpoint: fc.constantFrom("", "store.example", "https://store.example/x", "other.example:9000"),
    sse: fc.boolean(),
  }),
);
const entries: fc.Arbitrary<DestinationEntry> = fc
  .record({
    place,
    bucket: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{1,20}$/),
    path: fc.oneof(fc.constantFrom("", "logs/{DATE}", "a=b/c d"), path),
    keys: fc.record({
      credentials: fc.constant("keys" as const),
      accessKeyId: keyId,
      secretAccessKey: text,
      secretName: fc.constant(""),
    }),
  })
  .map(({ place: where, keys, ...more }) => ({ ...where, ...more, ...keys }));

it("reads back exactly what was entered, wherever it is a destination", () => {
  let read = 0;
  fc.assert(
    fc.property(entries, (entry) => {
      const built = buildDestination(entry);
      if (!built.ok) throw new Error(built.why);
      const parsed = parseDestination(built.value, PRODUCTION);
      // A path with control characters or a way up is none, however it is spelled.
      if (!parsed.ok) {
        expect(parsed.why).toMatch(/^the path /);
        return;
      }
      read += 1;
      expect(parsed.value).toMatchObject({
        scheme: entry.scheme,
        bucket: entry.bucket,
        path: entry.path,
        accountId: entry.scheme === "s3" ? null : entry.accountId,
        sse: entry.sse ? "AES256" : null,
        credentials: { accessKeyId: entry.accessKeyId, secretAccessKey: entry.secretAccessKey },
      });
      expect(entryOf(built.value, PRODUCTION)).toEqual({ ok: true, value: entry });
      const masked = entryOf(maskDestination(built.value), PRODUCTION);
      expect(masked).toEqual({ ok: true, value: { ...entry, accessKeyId: "", secretAccessKey: "" } });
    }),
  );
  expect(read).toBeGreaterThan(20);
});

it("never makes one destination of what was meant as another: what would end a part of it is refused", () => {
  fc.assert(
    fc.property(entries, text, text, (entry, bucket, folder) => {
      const built = buildDestination({ ...entry, bucket, path: folder });
      if (!built.ok) return;
      const parsed = parseDestination(built.value, PRODUCTION);
      if (!parsed.ok) return;
      expect([parsed.value.bucket, parsed.value.path]).toEqual([bucket, folder.replace(/^\/+|\/+$/g, "")]);
      expect(parsed.value.credentials).toMatchObject({ secretAccessKey: entry.secretAccessKey });
    }),
  );
});

it("names the secret of the deployment instead of keys", () => {
  const entry: DestinationEntry = {
    scheme: "s3",
    bucket: "traces",
    path: "",
    accountId: "",
    region: "auto",
    endpoint: "store.example",
    sse: false,
    credentials: "env",
    accessKeyId: "not sent",
    secretAccessKey: "not sent",
    secretName: "DEST_STORE",
  };
  const built = buildDestination(entry);
  expect(built).toEqual({
    ok: true,
    value: "s3://traces/?region=auto&endpoint=store.example&credentials=env%3ADEST_STORE",
  });
  expect(built.ok && entryOf(built.value, PRODUCTION)).toEqual({
    ok: true,
    value: { ...entry, accessKeyId: "", secretAccessKey: "" },
  });
});

it("makes nothing of half a surrogate pair", () => {
  const entry = { ...emptyOf(), secretAccessKey: "\ud800" };
  expect(buildDestination(entry)).toEqual({ ok: false, why: "this is not well-formed text" });
});

const emptyOf = (): DestinationEntry => ({
  scheme: "objstore",
  bucket: "traces",
  path: "",
  accountId: "a",
  region: "",
  endpoint: "",
  sse: false,
  credentials: "keys",
  accessKeyId: "x",
  secretAccessKey: "y",
  secretName: "",
});
