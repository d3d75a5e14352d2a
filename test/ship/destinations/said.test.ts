/** What is kept of an answer's text: src/ship/destinations/receiver/said.ts. */
import { describe, expect, it } from "vitest";
import { withText } from "../../../src/ship/destinations/receiver/said.ts";

const SECRET = 'p/s&w"d=+x Z%1\\é';
const LOGIN = "robert:hun/ter=22";
const CODE = "co+de/==12";

/** What is kept of a text, where a request carried all of these. */
function saidOf(text: string, authorization = `Basic ${Buffer.from(LOGIN).toString("base64")}`): string {
  const error = { kind: "busy", words: "HTTP 500", retryAfterS: null, cause: 500 } as const;
  const options = {
    path: `receiver/v1/http/${CODE.replace("/", "-")}`,
    parameters: new Map([["token", SECRET]]),
    headers: new Map([["authorization", authorization]]),
  };
  const verdict = withText({ kind: "failed", error, mayBeThere: true }, text, options);
  if (verdict.kind !== "failed") throw new Error(`it is ${verdict.kind}`);
  return verdict.error.said ?? "";
}

describe("a secret in an answer is masked", () => {
  const inUrl = encodeURIComponent(SECRET);
  const inJson = JSON.stringify(SECRET).slice(1, -1);
  it.each([
    ["as it is", SECRET],
    ["in a URL", inUrl],
    ["in a URL, in lower case", inUrl.replace(/%../g, (byte) => byte.toLowerCase())],
    ["in a form", new URLSearchParams({ t: SECRET }).toString().slice(2)],
    ["in JSON", inJson],
    ["in JSON that escapes more", inJson.replace("/", "\\/").replace("é", "\\u00e9").replace("&", "\\u0026")],
    ["in HTML", SECRET.replace("&", "&amp;").replace('"', "&quot;").replace("/", "&#x2F;").replace("=", "&#61;")],
    ["as user and password, of a header that has them in Base64", LOGIN],
    ["as a password alone", LOGIN.slice(LOGIN.indexOf(":") + 1)],
    ["as the end of a path", encodeURIComponent(CODE.replace("/", "-"))],
  ])("%s", (_how, spelled) => {
    expect(saidOf(`no such "${spelled}" here`)).toBe('no such "****" here');
  });

  it("though it stands there often, and long blanks before it", () => {
    const token = Array.from({ length: 1_000 }, (_, n) => "abcdefghij"[(n * 7 + (n >> 3)) % 10]).join("");
    for (let blanks = 0; blanks < 4_000; blanks += 250) {
      const said = saidOf(`x${" ".repeat(blanks)}${`${token} `.repeat(8)}`, `Bearer ${token}`);
      expect(said).toBe(`x${" ****".repeat(8)}`.replace("x ", blanks === 0 ? "x" : "x "));
    }
  });
});
