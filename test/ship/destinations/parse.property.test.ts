import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEndpoint } from "../../../src/base/hosts.ts";
import { blankFault } from "../../../src/formats/secrets/blanks.ts";
import {
  isMasked,
  MASK,
  maskDestination,
  parseDestination,
  sameStore,
  unmaskDestination,
} from "../../../src/ship/destinations/parse.ts";
import { destination, LOCAL, PRODUCTION } from "./context.ts";

/** A text percent-encoded where it must be, and wherever else the generator chooses. */
const encoded = (text: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((forced) =>
    [...text]
      .map((char, i) => {
        const plain = char === "+" ? char : encodeURIComponent(char);
        const code = char.codePointAt(0) ?? 0;
        return forced[i] && code < 0x80 ? `%${code.toString(16).padStart(2, "0")}` : plain;
      })
      .join(""),
  );

/** What a key may hold; what marks the ends of parameters elsewhere is often in it. */
const secret = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom("&", "=", "?", "#", "+", "%", "/", "*"),
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
    ),
    minLength: 1,
    maxLength: 12,
  })
  .filter((text) => text !== MASK && blankFault("", text) === null);
const id = fc.stringMatching(/^[!-~]{1,12}$/).filter((text) => text !== MASK);

const store = fc.oneof(
  fc.record({
    scheme: fc.constantFrom("objstore", "r2"),
    parameters: fc.record({ "account-id": fc.constantFrom("a", "b") }),
  }),
  fc.record({
    scheme: fc.constant("s3"),
    parameters: fc.record(
      {
        region: fc.constantFrom("auto", "eu-west-1"),
        endpoint: fc.constantFrom(
          "store.example",
          "https://store.example/",
          "https://store.example/x",
          "other.example:9000",
        ),
        sse: fc.constant("AES256"),
        "addressing-style": fc.constant("virtual"),
      },
      { requiredKeys: ["region"] },
    ),
  }),
);
const parts = fc.record({
  store,
  bucket: fc.constantFrom("traces", "logs"),
  path: fc.constantFrom("", "a", "{DATE}", "a/{DATE}/b", "a=b", "%41"),
  accessKeyId: id,
  secretAccessKey: secret,
});
type Parts = typeof parts extends fc.Arbitrary<infer T> ? T : never;

/** The same destination as a string, its parameters in any order and written in any way. */
const written = (meant: Parts): fc.Arbitrary<string> => {
  const all = {
    ...meant.store.parameters,
    "access-key-id": meant.accessKeyId,
    "secret-access-key": meant.secretAccessKey,
  };
  const pairs = Object.entries(all).map(([name, value]) =>
    fc.tuple(encoded(name), encoded(value)).map(([n, v]) => `${n}=${v}`),
  );
  return fc
    .tuple(...pairs)
    .chain((texts) => fc.shuffledSubarray(texts, { minLength: texts.length }))
    .map((texts) => `${meant.store.scheme}://${meant.bucket}/${meant.path}?${texts.join("&")}`);
};
const conf = parts.chain((meant) => written(meant).map((text) => ({ meant, text })));

/** Anything at all, and what is nearly a destination. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(
      fc.constantFrom(
        ...["s3://b/a", "?", "&", "=", "access-key-id", "secret-access-key", "secret%2Daccess-key", "%2A"],
        ...["****", "%2A%2A%2A%2A", "%", "%zz", "x", "region", "credentials", "\ud800", "\u0000", "#", "?", "&", "="],
      ),
      { maxLength: 14 },
    )
    .map((pieces) => pieces.join("")),
);

describe("a destination", () => {
  it("is read as what it was written from, in whatever order and however it is percent-encoded", () => {
    fc.assert(
      fc.property(conf, ({ meant, text }) => {
        const { scheme, parameters } = meant.store;
        expect(destination(text)).toMatchObject({
          scheme,
          bucket: meant.bucket,
          path: meant.path,
          accountId: "account-id" in parameters ? parameters["account-id"] : null,
          region: "region" in parameters ? parameters.region : "auto",
          sse: "sse" in parameters ? "AES256" : null,
          ...("addressing-style" in parameters && { addressing: "virtual" }),
          credentials: { accessKeyId: meant.accessKeyId, secretAccessKey: meant.secretAccessKey },
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it("is one or is refused in a line of plain words, and never a throw, whatever was put into it", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          conf.map(({ text }) => text),
        ),
        fc.nat(),
        anyText,
        (text, pick, put) => {
          const at = pick % (text.length + 1);
          for (const context of [PRODUCTION, { ...LOCAL, objstoreEndpoint: PRODUCTION.objstoreEndpoint }]) {
            const parsed = parseDestination(text.slice(0, at) + put + text.slice(at), context);
            if (!parsed.ok) expect(parsed.why).toMatch(/^[\x20-\x7e]{5,200}$/);
            else expect([parsed.value.endpoint.protocol, parsed.value.endpoint.username]).toEqual(["https:", ""]);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("a masked destination", () => {
  it("shows no secret and everything else, and is the same place; with what is stored it is itself again", () => {
    fc.assert(
      fc.property(conf, ({ meant, text }) => {
        const masked = maskDestination(text);
        const read = destination(masked);
        expect(read.credentials).toEqual({ accessKeyId: MASK, secretAccessKey: MASK });
        expect({ ...read, credentials: null }).toEqual({ ...destination(text), credentials: null });
        expect(unmaskDestination(masked, text)).toBe(text);
        expect([isMasked(text), isMasked(masked)]).toEqual([false, true]);
        // A key that is long enough to be told from the rest is nowhere in it.
        for (const key of [meant.accessKeyId, meant.secretAccessKey])
          if (key.length > 9) expect(masked).not.toContain(key);
      }),
      { numRuns: 1_000 },
    );
  });

  it("is so for any text: masked once is masked for good, and nothing stored goes anywhere but behind its own name", () => {
    fc.assert(
      fc.property(anyText, anyText, (sent, stored) => {
        const masked = maskDestination(sent);
        expect(maskDestination(masked)).toBe(masked);
        // What is put in is under the mask again.
        expect(maskDestination(unmaskDestination(sent, stored))).toBe(masked);
        if (!isMasked(sent)) expect(unmaskDestination(sent, stored)).toBe(sent);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("whether two destinations are one store", () => {
  it("is whether scheme, account, bucket, endpoint and addressing are the same, and nothing else counts", () => {
    const answers = { same: 0, other: 0 };
    const nameOf = ({ store: { scheme, parameters }, bucket }: Parts): string => {
      if (!("region" in parameters)) return [scheme, bucket, parameters["account-id"]].join(" ");
      const { endpoint = `s3.${parameters.region}.amazonaws.com`, "addressing-style": style } = parameters;
      return [scheme, bucket, style, endpoint.replace("https://", "").replace(/\/$/, "")].join(" ");
    };
    fc.assert(
      fc.property(conf, conf, (a, b) => {
        const same = nameOf(a.meant) === nameOf(b.meant);
        answers[same ? "same" : "other"] += 1;
        // Locally, all accounts share an endpoint.
        for (const context of [PRODUCTION, LOCAL])
          expect(sameStore(destination(a.text, context), destination(b.text, context))).toBe(same);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(answers.same, answers.other)).toBeGreaterThan(50);
  });
});

describe("the host of an endpoint", () => {
  /**
   * An address as one number, as bytes that are joined, in other bases, with a dot at the end: all
   * of them mean the same to a URL.
   */
  const spelled = (bytes: readonly number[]): fc.Arbitrary<string> => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes;
    const whole = ((a * 256 + b) * 256 + c) * 256 + d;
    return fc.constantFrom(
      bytes.join("."),
      `${bytes.join(".")}.`,
      `${whole}`,
      `0x${whole.toString(16)}`,
      `0${whole.toString(8)}`,
      `${a}.${(b * 256 + c) * 256 + d}`,
      `${a}.${b}.${c * 256 + d}`,
      bytes.map((byte) => `0x${byte.toString(16)}`).join("."),
      bytes.map((byte) => `0${byte.toString(8)}`).join("."),
      bytes.join("%2e"),
      bytes.join("\uff0e"),
    );
  };
  const byte = fc.nat({ max: 255 });
  const isPrivate = ([a = 0, b = 0, c = 0, d = 0]: readonly number[]): boolean =>
    [0, 10, 127].includes(a) ||
    a >= 224 ||
    (a === 169 && b === 254) ||
    (a === 192 && b === 168) ||
    (a === 172 && b >= 16 && b <= 31) ||
    (a === 100 && b >= 64 && b <= 127) ||
    // For protocols, measurements and documentation; and where Azure answers its own machines.
    (a === 192 && b === 0 && (c === 0 || c === 2)) ||
    (a === 192 && b === 88 && c === 99) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113) ||
    (a === 168 && b === 63 && c === 129 && d === 16);
  const address = fc.oneof(
    fc.tuple(byte, byte, byte, byte),
    fc.tuple(fc.constantFrom(0, 10, 127), byte, byte, byte),
    fc
      .constantFrom([192, 0, 0], [192, 0, 2], [192, 0, 1], [192, 88, 99], [198, 19, 7], [198, 51, 100], [203, 0, 113])
      .chain(([a = 0, b = 0, c = 0]) => byte.map((d): [number, number, number, number] => [a, b, c, d])),
    fc.tuple(
      fc.constantFrom(169, 192, 172, 100),
      fc.constantFrom(15, 16, 31, 32, 63, 64, 127, 128, 168, 254),
      byte,
      byte,
    ),
  );

  it("is no address of this machine, a private network or a link, however it is spelled", () => {
    const answers = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(
        address.chain((bytes) => spelled(bytes).map((host) => ({ bytes, host }))),
        fc.constantFrom("", "https://"),
        ({ bytes, host }, scheme) => {
          const parsed = parseEndpoint(scheme + host, "endpoint", false);
          answers[parsed.ok ? "taken" : "refused"] += 1;
          expect(parsed.ok, host).toBe(!isPrivate(bytes));
          if (parsed.ok) expect(parsed.value.hostname).toBe(bytes.join("."));
        },
      ),
      { numRuns: 2_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(200);
  });
});
