import { describe, expect, it } from "vitest";
import type { AzureDestination } from "../../../../src/ship/destinations/azure/blob-store.ts";
import { openDestination } from "../../../../src/ship/destinations/kinds.ts";
import {
  isMasked,
  maskDestination,
  parsePlace,
  sameFolder,
  sameStore,
  unmaskDestination,
} from "../../../../src/ship/destinations/parse.ts";
import { destination, LOCAL, PRODUCTION, refusal } from "../context.ts";

const BASE = "azure://account1.blob.core.windows.net/traces";
/** As the vendor wants it: an account SAS for objects, write-only, for years. */
const SAS = "sv=2022-11-02&ss=b&srt=o&sp=w&se=2031-12-31T23:59:59Z&st=2026-01-01T00:00:00Z&spr=https&sig=ab%2Bc%2Fd%3D";

const read = (conf: string, context = PRODUCTION): AzureDestination =>
  destination(conf, context) as unknown as AzureDestination;
const sas = (fields: Readonly<Record<string, string | null>>): string => {
  const parameters = new URLSearchParams(SAS);
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) parameters.delete(name);
    else parameters.set(name, value);
  }
  return [...parameters].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
};

describe("azure://", () => {
  it("is the container's URL with its SAS, and a path between the two", () => {
    expect(read(`${BASE}/logs/{DATE}?${SAS}`)).toEqual({
      scheme: "azure",
      endpoint: new URL("https://account1.blob.core.windows.net"),
      accountId: null,
      bucket: "traces",
      path: "logs/{DATE}",
      credentials: {
        query:
          "sv=2022-11-02&ss=b&srt=o&sp=w&se=2031-12-31T23%3A59%3A59Z&st=2026-01-01T00%3A00%3A00Z&spr=https&sig=ab%2Bc%2Fd%3D",
        version: "2022-11-02",
        permissions: "w",
        expiresMs: Date.UTC(2031, 11, 31, 23, 59, 59),
      },
    });
  });

  it.each([
    ["a service SAS", sas({ ss: null, srt: null, sr: "c", sp: "rcw" })],
    ["a SAS of a folder", sas({ ss: null, srt: null, sr: "d", sdd: "1", sp: "cw" })],
    [
      "a user delegation SAS",
      sas({ ss: null, srt: null, sr: "c", skoid: "o", sktid: "t", skt: "2026-01-01", sks: "b" }),
    ],
    ["a policy of the container's", sas({ ss: null, srt: null, sr: "c", sp: null, se: null, si: "policy" })],
    ["create-only", sas({ sp: "c" })],
    ["a day as its end", sas({ se: "2031-12-31" })],
    ["a + that is not encoded", `${sas({ sig: null })}&sig=ab+c/d=`],
  ])("takes %s", (_name, query) => {
    expect(read(`${BASE}/logs?${query}`).bucket).toBe("traces");
  });

  it("sends a signature as it is meant, however it is written", () => {
    const written = ["sig=ab%2Bc%2Fd%3D", "sig=ab+c/d=", "si%67=ab%2bc%2fd%3d"];
    const sent = written.map((sig) => read(`${BASE}/logs?${sas({ sig: null })}&${sig}`).credentials.query);
    expect(new Set(sent).size).toBe(1);
  });

  it.each([
    ["China", "account1.blob.core.chinacloudapi.cn"],
    ["US Government", "account1.blob.core.usgovcloudapi.net"],
    ["a DNS zone", "account1.z07.blob.storage.azure.net"],
    ["a domain of one's own", "logs.example.com"],
  ])("is a host of %s", (_name, host) => {
    expect(read(`azure://${host}/traces/logs?${SAS}`).endpoint.href).toBe(`https://${host}/`);
  });

  it("has the account in the path at a local server, and in the name of one with a dot", () => {
    for (const [host, endpoint] of [
      ["127.0.0.1:10000/devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1"],
      ["localhost:10000/devstoreaccount1", "http://localhost:10000/devstoreaccount1"],
      ["azurite:10000/devstoreaccount1", "http://azurite:10000/devstoreaccount1"],
      ["devstoreaccount1.blob.localhost:10000", "http://devstoreaccount1.blob.localhost:10000/"],
    ] as const) {
      const { endpoint: at, bucket, path } = read(`azure://${host}/traces/logs/{DATE}?${SAS}`, LOCAL);
      expect([at.href, bucket, path]).toEqual([endpoint, "traces", "logs/{DATE}"]);
    }
  });

  const FORM = "use azure://<account>.blob.core.windows.net/<container>/<path>?<SAS>";
  const CONTAINER = `the container must be 3 to 63 lower-case letters, digits or single dashes; ${FORM}`;
  const NO_HOST = `the host must be a public host; ${FORM}`;
  const ACCOUNT = "azure://account1.blob.core.windows.net";
  it.each([
    ["no account", "azure://traces/logs", NO_HOST],
    ["a local server", "azure://127.0.0.1:10000/devstoreaccount1/traces", NO_HOST],
    [
      "user information",
      "azure://u:p@account1.blob.core.windows.net/traces",
      `the host must not contain user information; ${FORM}`,
    ],
    ["no container", ACCOUNT, CONTAINER],
    ["a container in capitals", `${ACCOUNT}/Traces`, CONTAINER],
    ["two dashes", `${ACCOUNT}/a--b`, CONTAINER],
    ["the root container", `${ACCOUNT}/$root`, CONTAINER],
    ["a long container", `${ACCOUNT}/${"a".repeat(64)}`, CONTAINER],
    [
      "another service",
      "azure://account1.dfs.core.windows.net/traces",
      "the host must be the account's blob endpoint (.blob.)",
    ],
    ["a backslash", `${BASE}/logs\\a`, "the path must not contain a backslash"],
    ["a folder that the service renames", `${BASE}/logs./a`, "the path must not have a folder that ends with a dot"],
    ["too many folders", `${BASE}/${"a/".repeat(251)}a`, "the path must not have more than 250 folders"],
    ["a folder above", `${BASE}/../logs`, "the path must not contain . or .. as a segment"],
  ])("is refused with %s", (_name, address, why) => {
    expect(refusal(`${address}?${SAS}`)).toBe(why);
  });

  const NO_SIGNATURE = "sig is missing: use the container's URL with its SAS, and azure:// for https://";
  const READ_ONLY = "sp must hold w or c: this SAS may not write. Create one with create, write and read (sp=rcw)";
  it.each<[what: string, fields: Parameters<typeof sas>[0], why: string]>([
    ["no signature", { sig: null }, NO_SIGNATURE],
    ["an empty signature", { sig: "" }, "sig is empty"],
    ["no version", { sv: null }, "sv is missing: the SAS is not complete"],
    [
      "an old version",
      { sv: "2015-12-11" },
      "sv must be a date, 2016-05-31 or later: create the SAS with a newer version",
    ],
    ["no resource", { ss: null, srt: null }, "sr is missing: the SAS is not complete"],
    ["a single blob", { ss: null, srt: null, sr: "b" }, "sr must be c: this SAS is for a single blob"],
    ["queues", { ss: "q" }, "ss must hold b: this SAS is not for blobs"],
    ["containers alone", { srt: "sc" }, "srt must hold o: this SAS is not for objects"],
    ["no permissions", { sp: null }, "sp is missing: the SAS allows nothing"],
    ["read-only", { sp: "rl" }, READ_ONLY],
    ["append-only", { sp: "a" }, READ_ONLY],
    ["no end", { se: null }, "se is missing: the SAS is not complete"],
    ["an end that is no time", { se: "tomorrow" }, "se must be a time, such as 2031-12-31T00:00:00Z"],
  ])("is refused with a SAS of %s", (_name, fields, why) => {
    expect(refusal(`${BASE}/logs?${sas(fields)}`)).toBe(why);
  });

  it("is refused without a SAS", () => expect(refusal(`${BASE}/logs`)).toBe(NO_SIGNATURE));

  it.each(["rsce=gzip", "?sv=2022-11-02", "region=auto"])("has no parameter that is none of a SAS: %s", (extra) => {
    expect(refusal(`${BASE}/logs?${extra}&${SAS}`)).toMatch(/^unknown parameter; known for this scheme are sv, ss,/);
  });

  it("hides the signature and nothing else, and keeps it for the same container alone", () => {
    const conf = `${BASE}/logs/{DATE}?${SAS}`;
    const masked = maskDestination(conf);
    expect(masked).toBe(conf.replace("ab%2Bc%2Fd%3D", "****"));
    expect([isMasked(conf), isMasked(masked), unmaskDestination(masked, conf)]).toEqual([false, true, conf]);
    const place = (text: string) => {
      const parsed = parsePlace(text, PRODUCTION);
      if (!parsed.ok) throw new Error(parsed.why);
      return parsed.value;
    };
    const [here, elsewhere] = [place(masked), place(masked.replace("/traces/", "/others/"))];
    expect([sameStore(here, place(conf)), sameStore(here, elsewhere)]).toEqual([true, false]);
    expect(sameFolder(here, place(conf))).toBe(true);
    expect(JSON.stringify(here)).not.toContain("sig");
  });
});

describe("a SAS that cannot do what is asked", () => {
  const never = {
    now: () => Date.UTC(2032, 0, 1),
    sleep: async () => {},
    fetch: () => Promise.reject(new Error("nothing is sent")),
  };

  it("has expired: nothing is sent to find that out", async () => {
    const to = openDestination(read(`${BASE}/logs?${SAS}`), never);
    const why = "the SAS has expired: its se is 2031-12-31T23:59:59.000Z; create a new one";
    expect([await to.probe(), await to.challenge("k", "t")]).toEqual([why, why]);
  });

  it("may only create: there is no canary", async () => {
    const to = openDestination(read(`${BASE}/logs?${sas({ sp: "rc" })}`), never);
    const object = { key: "k", bytes: 1, sha256: "", contentType: "text/plain" };
    expect(await to.overwrite(object, new Uint8Array(1))).toEqual({
      kind: "misconfigured",
      words: "the SAS may create blobs, but not overwrite them (sp without w)",
      cause: "configuration",
    });
  });
});
