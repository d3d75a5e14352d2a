import { describe, expect, it } from "vitest";
import { joinConf, splitConf } from "../../../src/ship/destinations/conf.ts";
import { KINDS } from "../../../src/ship/destinations/kinds.ts";
import { parseDestination } from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION, refusal } from "./context.ts";
import { FIXTURES } from "./kinds.ts";
import { RECEIVERS } from "./receivers.ts";

/** What comes along when a credential is copied, and cannot be seen. */
const UNSEEN: Readonly<Record<string, string>> = {
  "a blank": " ",
  "a line feed": "\n",
  "a carriage return and a line feed": "\r\n",
  "a carriage return": "\r",
  "a tab": "\t",
  "a NUL": "\u0000",
  "a delete": "\u007f",
  "a no-break space": "\u00a0",
  "a soft hyphen": "\u00ad",
  "an ideographic space": "\u3000",
  "a zero-width space": "\u200b",
  "a word joiner": "\u2060",
  "a byte order mark": "\ufeff",
  "a line separator": "\u2028",
  "a right-to-left mark": "\u200f",
  "a Hangul filler": "\u3164",
  "an empty Braille cell": "\u2800",
};

const RULE = "must not have blanks, line breaks or invisible characters";

const AT: Readonly<Record<string, (value: string, put: string) => string>> = {
  "at its beginning": (value, put) => put + value,
  "at its end": (value, put) => value + put,
  "inside, near its end": (value, put) => value.slice(0, -3) + put + value.slice(-3),
};

const SPELLED: Readonly<Record<string, (char: string) => string>> = {
  "as it is": (char) => char,
  "percent-encoded": (char) => encodeURIComponent(char),
};

interface Secret {
  conf: string;
  /** In the words of its refusal. */
  name: string;
  put(change: (value: string) => string): string;
}

/** Every secret of every kind of destination, as their contract suites have them. */
const SECRETS: Secret[] = [...Object.values(FIXTURES), ...Object.values(RECEIVERS)].flatMap(({ conf }) => {
  const parts = splitConf(conf);
  const kind = KINDS.find(({ schemes }) => schemes.includes(parts?.scheme ?? ""));
  if (parts === null || kind === undefined) throw new Error("a fixture of no kind");
  const pairs = parts.query.split("&");
  const found = pairs.flatMap((pair, i): Secret[] => {
    const [name = "", ...value] = pair.split("=");
    if (name === "" || kind.isShown(name)) return [];
    const called = name.startsWith("header_") ? `header ${name.slice(7).toLowerCase()}` : name;
    const put: Secret["put"] = (change) =>
      joinConf({ ...parts, query: pairs.with(i, `${name}=${change(value.join("="))}`).join("&") });
    return [{ conf, name: called, put }];
  });
  if (kind.hasSecretPath === true)
    found.push({ conf, name: "the path", put: (change) => joinConf({ ...parts, path: change(parts.path) }) });
  return found;
});

/** Headers whose values are masked like all others, and are no keys. */
const MAY_HAVE_BLANKS: readonly string[] = [
  "header x-scope-orgid",
  "header x-clickhouse-user",
  "header x-sumo-category",
];

/** Of a secret path, the beginning is no part of the secret. */
const isPart = ({ name }: Secret, where: string): boolean => name !== "the path" || where !== "at its beginning";

describe("a secret", () => {
  it("is there in every kind that has credentials in its string", () => {
    const schemes = new Set(SECRETS.map(({ conf }) => conf.split("://")[0]));
    const without = KINDS.flatMap((kind) => kind.schemes).filter((scheme) => !schemes.has(scheme));
    expect(without).toEqual(["binding"]);
  });

  it.each(SECRETS)("of $conf, $name, is refused by its name with what cannot be seen", (secret) => {
    const { conf, name, put } = secret;
    expect(parseDestination(conf, PRODUCTION).ok).toBe(true);
    for (const [what, char] of Object.entries(UNSEEN))
      for (const [where, place] of Object.entries(AT).filter(([where]) => isPart(secret, where)))
        for (const [how, spelled] of Object.entries(SPELLED)) {
          const conf = put((value) => place(value, spelled(char)));
          if (char === " " && where.startsWith("inside") && MAY_HAVE_BLANKS.includes(name)) {
            expect([conf, parseDestination(conf, PRODUCTION).ok]).toEqual([conf, how !== "as it is"]);
            continue;
          }
          const why = refusal(conf);
          const isRawPath = name === "the path" && how === "as it is" && (char < "!" || char === "\u007f");
          const told = isRawPath ? "the path must not contain blanks, \\ or #" : `${name} ${RULE}`;
          expect([what, where, how, why]).toEqual([what, where, how, told]);
        }
  });

  it.each(["tok%0Aen", "token%0A", "%20token", "tok%E2%80%8Ben=", "token%0D%0A=="])("without a name, %s", (token) => {
    const why = refusal(`https://logs.example/in?a=b&${token}`);
    expect(why).toMatch(new RegExp(`^[^%]* ${RULE}$`));
    expect(why).not.toContain("tok");
  });

  it("that is a header's may have a blank behind its scheme, and any other header's inside", () => {
    const at = (header: string, value: string): string => `https://logs.example/in?header_${header}=${value}`;
    for (const conf of [
      at("Authorization", "Bearer%20token"),
      at("Authorization", "token"),
      at("User-Agent", "a%20b%20c"),
      at("X-ClickHouse-User", "a%20b"),
    ])
      expect([conf, parseDestination(conf, PRODUCTION).ok]).toEqual([conf, true]);
    for (const [header, value] of [
      ["Authorization", "Bearer%20to%20ken"],
      ["Authorization", "Bearer%20%20token"],
      ["Authorization", "Bearer%20"],
      ["Proxy-Authorization", "Basic%20a%20b"],
      ["X-Api-Key", "ab%20cd"],
      ["X-ClickHouse-Key", "ab%20cd"],
      ["User-Agent", "a%20"],
      ["User-Agent", "%20a"],
    ] as const)
      expect(refusal(at(header, value))).toBe(`header ${header.toLowerCase()} ${RULE}`);
  });

  it.each([
    ["token=ab%20cd", "token"],
    ["api_key=abcd%0A", "api_key"],
    ["sig=%E2%80%8Babcd", "sig"],
    ["sig=abcd\n", "sig"],
  ])("of an address of one's own is refused, too: %s", (query, name) => {
    expect(refusal(`https://logs.example/in?team=a%20b&${query}`)).toBe(`${name} ${RULE}`);
    expect(parseDestination("https://logs.example/in?team=a%20b", PRODUCTION).ok).toBe(true);
  });

  it("of a SAS is refused whichever of its parts comes last", () => {
    const sas = "sv=2021-12-02&sig=abcd&ss=b&srt=o&sp=rcw&spr=https&se=2031-12-31T00%3A00%3A00Z";
    const conf = `azure://account1.blob.core.windows.net/traces/logs?${sas}`;
    expect(parseDestination(conf, PRODUCTION).ok).toBe(true);
    expect(refusal(`${conf}\n`)).toBe(`se ${RULE}`);
  });

  it.each(["host", "access_key_id", "secret_access_key"])("of the deployment is refused by its name: %s", (part) => {
    const good = { host: "store.example", access_key_id: "env-id", secret_access_key: "env-secret" };
    const conf = "s3://traces/a?region=auto&endpoint=store.example&credentials=env:DEST_ARCHIVE";
    for (const char of Object.values(UNSEEN))
      for (const place of Object.values(AT)) {
        const secret = { ...good, [part]: place(good[part as keyof typeof good], char) };
        const context = { ...PRODUCTION, secret: () => `${JSON.stringify(secret)}\n` };
        expect(refusal(conf, context)).toBe(`the secret DEST_ARCHIVE: ${part} ${RULE}`);
      }
  });
});
