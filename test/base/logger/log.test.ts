import fc from "fast-check";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import * as z from "zod";
import { errorText, inLogContext, log } from "../../../src/base/logger.ts";
import { TimeoutError } from "../../../src/base/platform.ts";
import { checkKeyOf } from "../../../src/formats/secrets/check-part.ts";
import { newSecret } from "../../../src/formats/secrets/credentials.ts";

describe("a line", () => {
  let infos: MockInstance;
  beforeEach(() => {
    infos = vi.spyOn(console, "info").mockImplementation(() => {});
  });
  const lines = (): unknown[] => infos.mock.calls.map(([line]) => line);

  it("is one object: its message, what it runs in, and what it says", () => {
    inLogContext({ request_id: "r", job: 1 }, () => log.info("done", { job: 2, ms: 3 }));
    expect(infos.mock.calls).toEqual([[{ message: "done", request_id: "r", job: 2, ms: 3 }]]);
    expect(Object.keys(lines()[0] as object)).toEqual(["message", "request_id", "job", "ms"]);
  });

  it("goes out at its level", () => {
    const warns = vi.spyOn(console, "warn").mockImplementation(() => {});
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    log.warn("w");
    log.error("e", { n: 1 });
    expect([warns.mock.calls, errors.mock.calls, lines()]).toEqual([
      [[{ message: "w" }]],
      [[{ message: "e", n: 1 }]],
      [],
    ]);
  });

  it("has the fields of everything that it runs in, and of nothing beside it, across waits", async () => {
    const turn = Promise.withResolvers<void>();
    const work = (request_id: string) =>
      inLogContext({ request_id }, async () => {
        await turn.promise;
        await inLogContext({ batch_id: `${request_id}'s` }, async () => log.info("inner"));
        setTimeout(() => log.info("later"), 0);
        await new Promise((resolve) => setTimeout(resolve, 1));
        return "value";
      });
    const both = Promise.all([work("a"), work("b")]);
    turn.resolve();
    expect(await both).toEqual(["value", "value"]);
    log.info("outside");
    const of = (request_id: string) => [
      { message: "inner", request_id, batch_id: `${request_id}'s` },
      { message: "later", request_id },
    ];
    expect(lines()).toHaveLength(5);
    expect(lines()).toEqual(expect.arrayContaining([...of("a"), ...of("b"), { message: "outside" }]));
  });
});

const KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const CONF = `s3://bucket/logs/{DATE}?region=auto&endpoint=https%3A%2F%2Fs3.example.com&access-key-id=AKIAIOSFODNN7EXAMPLE&secret-access-key=${encodeURIComponent(AWS_SECRET)}`;
const jsonError = (text: string): Error => {
  try {
    JSON.parse(text);
  } catch (error) {
    return error as Error;
  }
  throw new Error("it is JSON");
};

describe("the text of an error", () => {
  it.each<[string, unknown, string]>([
    ["its name and what it says", new TypeError("no such thing"), "TypeError: no such thing"],
    [
      "who did not answer",
      new TimeoutError("the log of job 7", 30_000),
      "TimeoutError: the log of job 7: no answer within 30000 ms",
    ],
    ["on one line", new Error("a\n\tb\u0000c\r\nd"), "Error: a b c d"],
    ["in the order in which it stands", new Error("a\u202eb\u2066c\u200bd"), "Error: a b c d"],
    ["no more of what is no error than its kind", "Bearer abc", "thrown: string"],
    ["nor of an object", { toString: () => "secret" }, "thrown: object"],
    ["of a schema's error, its name", z.string().safeParse(7).error, "ZodError"],
    [
      "of a URL, its scheme and host",
      new Error("cannot load https://api.example.com:8443/hook/T0/x?sig=a#b."),
      "Error: cannot load https://api.example.com:8443/****",
    ],
    [
      "nothing of who it is for",
      new Error('at "https://user:pass@host.example/"'),
      'Error: at "https://host.example/****"',
    ],
    ["of a destination, its bucket", new Error(`no destination: ${CONF}`), "Error: no destination: s3://bucket/****"],
    ["none of a bearer", new Error("sent Authorization: Bearer short-one"), "Error: sent Authorization: ****"],
    ["nor of one that stands alone", new Error("Bearer short-one"), "Error: Bearer ****"],
    [
      "none of a signature",
      new Error("AWS4-HMAC-SHA256 Credential=AKIA/2026, Signature=ab"),
      "Error: AWS4-HMAC-SHA256 ****",
    ],
    [
      "none of a named value",
      new Error("X-Auth-Key: abc, secret-access-key=def&x=1"),
      "Error: X-Auth-Key: ****, secret-access-key=****&x=1",
    ],
    [
      "none of a named value in JSON",
      new Error('{"secret_access_key":"abc","host":"h"}'),
      'Error: {"secret_access_key":"****","host":"h"}',
    ],
    [
      "no word of one that has several",
      new Error(`{"password":"open \\"sesame\\" now","host":"h"} secret='a b' c`),
      `Error: {"password":"****","host":"h"} secret='****' c`,
    ],
    ["no key id", new Error("AKIAIOSFODNN7EXAMPLE is unknown"), "Error: **** is unknown"],
    ["no key that stands alone", new Error(`${KEY} is no key`), "Error: **** is no key"],
    [
      "nothing of what JSON.parse could not read",
      jsonError('{"a":"hush" hush}'),
      "SyntaxError: Expected ',' or '}' after property value in JSON at position 12 (line 1 column 13)",
    ],
    [
      "nor the beginning of it",
      jsonError("hush-hush"),
      "SyntaxError: Unexpected token 'h', \"****\" is not valid JSON",
    ],
    [
      "nor some of its middle",
      jsonError(`[${"1,".repeat(40)}hush"hush${",1".repeat(40)}]`),
      "SyntaxError: Unexpected token 'h', \"****\" is not valid JSON",
    ],
  ])("is %s", (_what, error, expected) => {
    expect(errorText(error)).toBe(expected);
  });

  it("is cut after 300 characters, never within one, and never shows half a secret", () => {
    expect(errorText(new Error("x ".repeat(5_000)))).toMatch(/^Error: (?:x )+x?…$/);
    expect(errorText(new Error("x ".repeat(5_000))).length).toBe(301);
    expect(errorText(new Error(`${"😀".repeat(200)}`)).isWellFormed()).toBe(true);
    // The part that is read ends inside the secret, and the text before it becomes short.
    const padding = `https://host.example/${"p".repeat(4_096 - 60)} `;
    const text = errorText(new Error(`${padding}secret words ${AWS_SECRET}`));
    expect(text).toMatch(/^Error: https:\/\/host\.example\/\*\*\*\* /);
    expect(text).not.toContain(AWS_SECRET.slice(0, 8));
  });

  it("does not throw, whatever an error does", () => {
    const hostile = new Error("x");
    Object.defineProperty(hostile, "message", {
      get: () => {
        throw new Error("no");
      },
    });
    expect(errorText(hostile)).toBe("an error that cannot be read");
    const nameless = new Error("x");
    Object.defineProperty(nameless, "name", { value: Symbol("no") });
    expect(errorText(nameless)).toBe("an error that cannot be read");
  });

  it("has no secret in it, wherever it stands", () => {
    const secret = fc.oneof(
      fc.constantFrom(KEY, AWS_SECRET, CONF, "AKIAIOSFODNN7EXAMPLE"),
      fc.constantFrom("token" as const, "key" as const).map((kind) => newSecret(kind, checkKeyOf(new Uint8Array(32)))),
    );
    const words = fc.string({ maxLength: 60 });
    const wrap = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => `Bearer ${text}`,
      (text) => `"${text}"`,
      (text) => `https://host/${text}`,
      (text) => `x-auth-key=${text}`,
      (text) => `{"secret":"${text}"}`,
    );
    fc.assert(
      fc.property(secret, words, words, wrap, (hidden, before, after, wrapped) => {
        const text = errorText(new Error(`${before} ${wrapped(hidden)} ${after}`));
        for (const part of [hidden, AWS_SECRET, encodeURIComponent(AWS_SECRET)]) expect(text).not.toContain(part);
        expect(text.length).toBeLessThanOrEqual(301);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is made in time, whatever was meant to take long", () => {
    for (const piece of [
      "a",
      "a-",
      '"',
      "://",
      "a://",
      "secret",
      "secret=",
      "Bearer ",
      "token-",
      "\n",
      '"... is not valid JSON',
    ])
      expect(errorText(new Error(piece.repeat(100_000))).length).toBeLessThanOrEqual(301);
  }, 5_000);
});
