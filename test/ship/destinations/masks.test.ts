/** What is shown of a string: values of names that are known to be harmless, and no other. */
import { describe, expect, it } from "vitest";
import { entryOf, fieldsOf, requireForm, shownOf, withSecretsOf } from "../../../src/ship/destinations/entry.ts";
import { KINDS } from "../../../src/ship/destinations/kinds.ts";
import { isMasked, maskDestination, parsePlace, unmaskDestination } from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION } from "./context.ts";

/** Names under which services take secrets, common and not. */
const NAMES = [
  ...["token", "api-key", "apiKeyValue", "client_secret_value", "license", "licence", "otp", "dsn", "sid", "pin"],
  ...["X-Amz-Credential", "x-functions-keys", "code", "k", "t", "s", "q", "u", "user", "username", "tenant", "id"],
  ...["sharedaccesssignature", "wstoken", "writeKey2b", "hecTok", "passcode", "pw", "psk", "seed", "nonce", "jwt_v2"],
  ...["accessToken", "clientSecret", "privateKey", "licenseKey", "key2", "auth_code", "x-amz-signature", "sig"],
  ...["Team", "TEAM", "team ", "teams", "index[]", "ключ", "", "__proto__", "constructor", "header_X-Team"],
];

const SCHEMES = [...KINDS.flatMap(({ schemes }) => schemes), "ftp", "HTTPS", "nothing"];

describe.each(SCHEMES)("of %s://", (scheme) => {
  it.each(NAMES)("a parameter called %s is not shown, and kept", (name) => {
    const conf = `${scheme}://logs.example/in?${encodeURIComponent(name)}=SECRET-0815`;
    const shown = maskDestination(conf);
    expect([shown.includes("SECRET"), isMasked(shown), unmaskDestination(shown, conf)]).toEqual([false, true, conf]);
    expect(maskDestination(shown)).toBe(shown);
  });
});

it.each([
  ["a token without a name", "SECRET-0815", "****"],
  ["one in Base64", "U0VDUkVU==", "****"],
  ["one with nothing behind it", "SECRET-0815=&team=a", "****&team=a"],
  ["two of one name", "tag=SECRET-1&team=a&tag=SECRET-2", "tag=****&team=a&tag=****"],
  ["two tokens", "SECRET-1&SECRET-2", "****&****"],
  ["an escaped name", "t%6Fken=SECRET&te%61m=a", "t%6Fken=****&te%61m=a"],
  ["a malformed one", "t%ZZ=SECRET%", "t%ZZ=****"],
  ["a value with a sign", "a=b=SECRET", "a=****"],
] as const)("%s: it is not shown, and what comes back is what it was", (_what, query, masked) => {
  const [conf, shown] = [query, masked].map((each) => `https://logs.example/in?${each}`) as [string, string];
  expect([maskDestination(conf), unmaskDestination(shown, conf), isMasked(shown)]).toEqual([shown, conf, true]);
});

it("a value without a name is not put where a name is empty, nor the other way round", () => {
  const [bare, empty] = ["=", "=SECRET"].map((query) => `https://logs.example/in?${query}`) as [string, string];
  expect(unmaskDestination(maskDestination(empty), bare)).toBe(maskDestination(empty));
  expect(unmaskDestination(maskDestination(bare), empty)).toBe(maskDestination(bare));
});

it("of two of one name, one may change", () => {
  const [stored, sent] = ["tag=a&tag=b", "tag=new&tag=****"].map((each) => `https://logs.example/in?${each}`);
  expect(unmaskDestination(sent ?? "", stored ?? "")).toBe("https://logs.example/in?tag=new&tag=b");
});

it.each([
  "https://logs.example/in?team=a&index=b&api-version=2",
  "https://log-api.newrelic.com/log/v1?format=cloudflare",
  "elastic://es.example/traces?pipeline=a&routing=b&require_alias=true",
  "datadog://http-intake.logs.datadoghq.com/api/v2/logs?ddsource=a&service=b&host=c&ddtags=d",
  "splunk://splunk.example/services/collector?channel=a&index=b&source=c&sourcetype=d&host=e",
  "loki://loki.example/loki/api/v1/push?labels=a%3Db&max-age-hours=5",
  "clickhouse://db.example?database=a&table=b",
  "s3://traces/logs?region=auto&endpoint=store.example&sse=AES256&credentials=env:DEST_A",
  "objstore://traces/logs?account-id=a1&credentials=env:DEST_A",
  "gs://traces/logs?endpoint=store.example&credentials=env:DEST_A",
  "azure://a.blob.core.windows.net/traces?sv=2021-12-02&ss=b&srt=o&sp=rcw&se=2031-12-31T00%3A00%3A00Z",
])("what is known to be harmless is shown: %s", (conf) => {
  expect(maskDestination(conf)).toBe(conf);
});

it("neither a place nor a form shows more, and a form keeps what it does not show", () => {
  const conf = "https://logs.example/in?license=SECRET-1&team=a&SECRET-2&header_X-Team=SECRET-3";
  const place = parsePlace(conf, PRODUCTION);
  const stored = entryOf(conf, PRODUCTION);
  const shown = entryOf(maskDestination(conf), PRODUCTION);
  if (!place.ok || !stored.ok || !shown.ok) throw new Error("no destination");
  expect(place.value.endpoint.href).toBe("https://logs.example/in?license=****&team=a&****");
  for (const field of fieldsOf(requireForm(stored.value))) expect(shownOf(field, stored.value)).not.toContain("SECRET");
  expect(withSecretsOf(shown.value, stored.value).values).toEqual(stored.value.values);
});
