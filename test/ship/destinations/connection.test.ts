import { describe, expect, inject, it } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { whyUnreachable } from "../../../src/ship/destinations/connection.ts";
import { openDestination } from "../../../src/ship/destinations/kinds.ts";
import { remedyFor } from "../../../src/ship/destinations/remedies.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destination, LOCAL } from "./context.ts";

const CERTIFICATE = "its certificate is not trusted, has expired or is for another name";
const CLOSED = "nothing listens at this port, or it hangs up";
const UNKNOWN = "the host name is unknown";
const GARBLED = "it answers, but no HTTP, or too many headers";
const HTTP = "it speaks http, not https";
const HTTPS = "it speaks https, not http";
const HTTPS_OR_LONG = `${HTTPS}, or sends too many headers`;

const asHttp = (url: string) => url.replace("https:", "http:");
const asHttps = (url: string) => url.replace("http:", "https:");
/** Port 9 is "discard", where nothing listens. */
const NOTHING = "127.0.0.1:9";

async function probe(endpoint: string): Promise<string | null> {
  const conf = `s3://traces/logs?region=auto&endpoint=${encodeURIComponent(endpoint)}&access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`;
  return openDestination(destination(conf, LOCAL), platform).probe();
}

describe("a connection that fails, at real servers", () => {
  it.each<[what: string, endpoint: () => string, why: string]>([
    ["an untrusted certificate", () => inject("tlsUrls").silent, CERTIFICATE],
    ["one at a server that answers plain http", () => inject("tlsUrls").polite, CERTIFICATE],
    ["https to a port of http", () => asHttps(inject("s3Url")), HTTP],
    ["http to a port of https", () => asHttp(inject("tlsUrls").silent), HTTPS_OR_LONG],
    ["the same at a server that answers plain http", () => asHttp(inject("tlsUrls").polite), HTTPS],
    ["http to a closed port", () => `http://${NOTHING}`, CLOSED],
    ["https to a closed port", () => `https://${NOTHING}`, CLOSED],
    ["two million bytes of headers", () => inject("tlsUrls").verbose, HTTPS_OR_LONG],
    ["an unknown name", () => "https://no-such-host.invalid", UNKNOWN],
  ])("says why: %s", async (_what, endpoint, why) => {
    const fault = await probe(endpoint());
    expect(fault).toBe(`error writing object: error uploading: connection failed: ${why}`);
    expect(remedyFor(fault)).toMatch(/^[A-Z]/);
  });
});

describe("what is asked to find out", () => {
  /** A network that gives this for each protocol, and notes what it was asked. */
  function network(answers: Record<string, () => Response | Error>) {
    const asked: { url: string; init: RequestInit }[] = [];
    const scripted = {
      now: () => 0,
      sleep: async () => {},
      fetch: async (url: string, init: RequestInit) => {
        asked.push({ url, init });
        const answer = answers[new URL(url).protocol]?.() ?? new Error("none");
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
    return { asked, scripted };
  }
  const status =
    (code: number, body = "") =>
    () =>
      new Response(body, { status: code });
  const lost = () => new Error("Network connection lost.");
  const failed = () => new Error("internal error; reference = abc");
  const HTTPS_URL = new URL("https://store.example/prefix");
  const HTTP_URL = new URL("http://127.0.0.1/prefix");

  it("is the host alone, unsigned, at the same port, and no redirect is followed", async () => {
    const { asked, scripted } = network({ "https:": failed, "http:": lost });
    expect(await whyUnreachable(HTTPS_URL, scripted)).toBe(CERTIFICATE);
    expect(asked.map(({ url }) => url)).toEqual(["https://store.example:443/", "http://store.example:443/"]);
    for (const { init } of asked) {
      expect(init).toMatchObject({ redirect: "manual" });
      expect([init.headers, init.body, init.method]).toEqual([undefined, undefined, undefined]);
    }
  });

  it.each<[what: string, url: URL, answers: Record<string, () => Response | Error>, why: string | null]>([
    ["it answers by now", HTTPS_URL, { "https:": status(403) }, null],
    ["the platform finds no name", HTTPS_URL, { "https:": status(530), "http:": status(530) }, UNKNOWN],
    ["the platform is refused", HTTPS_URL, { "https:": status(521), "http:": status(521) }, CLOSED],
    ["the platform trusts no certificate", HTTPS_URL, { "https:": status(526), "http:": status(521) }, CERTIFICATE],
    ["a redirect from http", HTTPS_URL, { "https:": failed, "http:": status(301) }, HTTP],
    ["http answers", HTTP_URL, { "http:": status(403) }, null],
    ["nginx", HTTP_URL, { "http:": status(400, "The plain HTTP request was sent to HTTPS port") }, HTTPS],
    ["a name that is unknown", new URL("http://minio/prefix"), { "http:": failed }, UNKNOWN],
    ["an answer that is none", HTTP_URL, { "http:": failed }, GARBLED],
    [
      "an answer that is none, over https",
      new URL("https://127.0.0.1"),
      { "https:": failed, "http:": failed },
      GARBLED,
    ],
    ["the platform takes no such answer", HTTPS_URL, { "https:": status(520) }, GARBLED],
    ["https answers", HTTP_URL, { "http:": lost, "https:": status(200) }, HTTPS],
    ["nothing does", HTTP_URL, { "http:": lost, "https:": lost }, CLOSED],
  ])("%s", async (_what, url, answers, why) => {
    expect(await whyUnreachable(url, network(answers).scripted)).toBe(why);
  });

  it("takes no answer back, but that of a server of https", async () => {
    const { asked, scripted } = network({ "http:": lost, "https:": failed });
    expect(await whyUnreachable(HTTP_URL, scripted, true)).toBeNull();
    expect(asked).toHaveLength(1);
    const nginx = network({ "http:": status(400, "The plain HTTP request was sent to HTTPS port") });
    expect(await whyUnreachable(HTTP_URL, nginx.scripted, true)).toBe(HTTPS);
  });
});
