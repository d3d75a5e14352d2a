import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8, toHex } from "../../../src/base/bytes.ts";
import { checkKeyOf } from "../../../src/formats/secrets/check-part.ts";
import { hashOf, looksIssued, newSecret, readCredentials, sameHash } from "../../../src/formats/secrets/credentials.ts";

const KEY = checkKeyOf(new Uint8Array(32).fill(7));

/** Visible characters of a header, without spaces. */
const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 254,
});

/** Any of the headers that are read, with or without a value. */
const carried = fc.record({
  authorization: fc.option(visible.map((token) => `Bearer ${token}`)),
  email: fc.option(visible),
  key: fc.option(visible),
});

function headersOf(fields: { [name: string]: string | null }): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) if (value !== null) headers.set(name, value);
  return headers;
}

describe("the credentials of a request", () => {
  it("are a bearer token, or a whole pair, and never both", () => {
    fc.assert(
      fc.property(carried, ({ authorization, email, key }) => {
        const read = readCredentials(headersOf({ authorization, "x-auth-email": email, "x-auth-key": key }));
        const only = (one: boolean, ...others: (string | null)[]) => one && others.every((each) => each === null);
        if (only(authorization !== null, email, key))
          expect(read).toEqual({ kind: "token", token: authorization?.slice("Bearer ".length) });
        else if (only(email !== null && key !== null, authorization)) expect(read).toEqual({ kind: "key", email, key });
        else expect(read).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it("are not taken out of any other header, cookies included", () => {
    const name = fc.constantFrom(
      "cookie",
      "proxy-authorization",
      "x-auth-token",
      "x-api-key",
      "x-auth-user-service-key",
    );
    fc.assert(
      fc.property(name, visible, (header, value) => {
        const text = `Bearer ${value}; X-Auth-Email=${value}; X-Auth-Key=${value}`;
        expect(readCredentials(headersOf({ [header]: text }))).toBeNull();
      }),
    );
  });

  it("are read out of nothing but what they are: no other scheme, no second token, no header that came twice", () => {
    const scheme = fc.constantFrom("Basic", "Token", "Bearer,", "Bearer:", "", "BearerBearer", "Digest", "Bear er");
    fc.assert(
      fc.property(scheme, visible, visible, (other, token, second) => {
        expect(readCredentials(headersOf({ authorization: `${other} ${token}` }))).toBeNull();
        expect(readCredentials(headersOf({ authorization: `Bearer ${token} ${second}` }))).toBeNull();
        const twice = headersOf({ "x-auth-email": token, "x-auth-key": second });
        twice.append("x-auth-key", second);
        expect(readCredentials(twice)).toBeNull();
      }),
    );
  });

  it("are answered, whatever stands in the headers", () => {
    const any = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });
    fc.assert(
      fc.property(fc.option(any), fc.option(any), fc.option(any), (authorization, email, key) => {
        const read = readCredentials(headersOf({ authorization, "x-auth-email": email, "x-auth-key": key }));
        for (const text of Object.values(read ?? {})) expect(text).toMatch(/^[\u0021-\u007e]+$/);
      }),
    );
  });
});

describe("a secret", () => {
  const kind = fc.constantFrom("token" as const, "key" as const);

  it("is unique, and tells what it is", () => {
    fc.assert(
      fc.property(kind, (each) => {
        const secret = newSecret(each, KEY);
        expect(secret).toMatch(/^logship_(token|key)_[\w-]{43}$/);
        expect([looksIssued(each, secret), looksIssued(each === "token" ? "key" : "token", secret)]).toEqual([
          true,
          false,
        ]);
        expect(newSecret(each, KEY)).not.toBe(secret);
      }),
    );
  });

  it("is no other, be it longer, shorter, or with one character changed", () => {
    const at = fc.nat({ max: 42 });
    fc.assert(
      fc.property(kind, at, visible, (each, place, more) => {
        const secret = newSecret(each, KEY);
        const start = secret.length - 43 + place;
        const other = secret.charAt(start) === "A" ? "B" : "A";
        const changed = secret.slice(0, start) + other + secret.slice(start + 1);
        for (const wrong of [changed, secret.slice(0, -1), secret + more, secret.toUpperCase(), ""]) {
          expect(sameHash(hashOf(secret), hashOf(wrong))).toBe(false);
          if (wrong !== changed) expect(looksIssued(each, wrong)).toBe(false);
        }
        expect(sameHash(hashOf(secret), hashOf(secret))).toBe(true);
      }),
    );
  });

  it("is compared with its whole hash: a part of it is no hash, and throws nothing", () => {
    fc.assert(
      fc.property(visible, fc.nat({ max: 31 }), (secret, length) => {
        expect(sameHash(hashOf(secret), hashOf(secret).slice(0, length))).toBe(false);
      }),
    );
  });

  it("is hashed with SHA-256", async () => {
    const text = "logship_token_x";
    const digest = await crypto.subtle.digest("SHA-256", encodeUtf8(text));
    expect(toHex(hashOf(text))).toBe(toHex(new Uint8Array(digest)));
  });
});
