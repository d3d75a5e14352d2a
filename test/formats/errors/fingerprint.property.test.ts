/** What makes errors one problem: the same cause with other values, and no other cause. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { causeOf, problemId } from "../../../src/formats/errors/fingerprint.ts";
import { topFrame } from "../../../src/formats/errors/frame.ts";
import { isGibberish } from "../../../src/formats/errors/gibberish.ts";
import { MESSAGE_MAX, masked } from "../../../src/formats/errors/mask.ts";

const DIGITS = "0123456789";
const LOWER = "abcdefghijklmnopqrstuvwxyz";
const of = (letters: string, length: number | [number, number]): fc.Arbitrary<string> => {
  const [minLength, maxLength] = typeof length === "number" ? [length, length] : length;
  return fc.string({ unit: fc.constantFrom(...letters), minLength, maxLength });
};
const hex = (length: number) => of("0123456789abcdef", length);
const base62 = (length: number) => of(DIGITS + LOWER + LOWER.toUpperCase(), length).filter((id) => /\d/.test(id));
const number = fc.nat({ max: 1e9 });
const digits = of(DIGITS, [1, 12]);
const uuid = fc.uuid();
const date = fc.date({ min: new Date("1990-01-01"), max: new Date("2090-01-01"), noInvalidDate: true });
const quotable = fc.string({ unit: fc.constantFrom(..."abcXYZ019 -_./éß漢") });
const json = fc
  .dictionary(fc.constantFrom("id", "user", "items", "at", "text"), fc.jsonValue())
  .map((value) => JSON.stringify(value));
const place = fc
  .array(of(`${LOWER}${DIGITS}_-`, [1, 12]), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join("/"));

/** Messages of a cause: what is in front of a value, the values, and what is behind. */
const CAUSES: readonly (readonly [string, fc.Arbitrary<string | number>, string])[] = [
  ["order ", number, " not found"],
  ["order ", uuid, " is gone"],
  ["user ", hex(8), " is locked"],
  ["object ", hex(24), " has no owner"],
  ["hash ", hex(40), " does not match"],
  ["commit ", hex(64), " is unknown"],
  ["no session ", base62(21), " in the store"],
  ["customer cus_", base62(14), " has no card"],
  ["the token ", base62(32).map((id) => `sk_live_${id}`), " is revoked"],
  ["the key ", of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16).map((id) => `AKIA${id}`), " is disabled"],
  ["bearer ", fc.tuple(base62(20), base62(30), base62(43)).map((all) => `eyJ${all.join(".")}`), " has expired"],
  ["stale since ", date.map((at) => at.toISOString()), ""],
  ["stale until ", date.map((at) => at.toUTCString()), ", try later"],
  ["closed on ", date.map((at) => at.toISOString().slice(0, 10)), " by its owner"],
  ["payload ", json, " was refused"],
  ["list ", fc.array(number, { minLength: 1 }).map((all) => JSON.stringify(all)), " is too long"],
  ["file /", place, " does not exist"],
  ["cannot open https://api.example.com/", place, ""],
  ["mail to ", of(LOWER, [1, 12]).map((name) => `${name}@${name}.example`), " bounced"],
  ["peer ", fc.ipV4(), " refused the connection"],
  ["upstream ", fc.ipV6(), " is down"],
  [
    "timeout after ",
    fc.tuple(fc.nat(1e5), fc.constantFrom("ms", " ms", "s", " seconds")).map((all) => all.join("")),
    "",
  ],
  [
    "body of ",
    fc
      .tuple(fc.float({ min: 0, noNaN: true, noDefaultInfinity: true }), fc.constantFrom(" MB", "kB", " bytes"))
      .map((all) => all.join("")),
    " is too large",
  ],
  ['tenant "', quotable.map((text) => `${text}" `), "is not active"],
  ["Kunde „", quotable.map((text) => `${text}“ `), "wurde nicht gefunden"],
  ["订单", digits, "未找到"],
  ["заказ ", digits, " не найден"],
  ["النظام ", of("٠١٢٣٤٥٦٧٨٩", [1, 9]), " غير متاح"],
  ["worker-", digits, " has crashed"],
  ["row ", fc.tuple(digits, digits).map(([row, all]) => `${row} of ${all}`), " is broken"],
  ["id=", of(LOWER, [3, 9]), "; it has no parent"],
  ["login password=", of(LOWER, [3, 9]), " is wrong"],
  ["Server=db;Pwd=", of(LOWER, [3, 9]), "; cannot connect"],
  ["client_secret:", of(LOWER, [3, 9]), " was refused"],
];

const message = ([before, value, after]: (typeof CAUSES)[number]) => value.map((each) => `${before}${each}${after}`);

describe("a masked message", () => {
  it.each(CAUSES)("is the same with any value: %s…%s%s", (...cause) => {
    const seen = new Set<string>();
    for (const text of fc.sample(message(cause), { numRuns: 500, seed: 38 })) seen.add(masked(text));
    expect([...seen]).toEqual([...seen].slice(0, 1));
  });

  it("is another one of another cause", () => {
    const masks = CAUSES.map((cause) => masked(fc.sample(message(cause), { numRuns: 1, seed: 38 })[0] ?? ""));
    expect(new Set(masks).size).toBe(CAUSES.length);
  });

  it("stays as it is when it is masked again", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.string({ unit: fc.constantFrom(..."ab0#'\"{}[]/\\:.@=-_ ,é訂"), maxLength: 300 }),
      ...CAUSES.map(message),
      fc.array(fc.oneof(...CAUSES.map(message)), { maxLength: 6 }).map((all) => all.join(" ")),
      fc
        .array(
          fc.constantFrom(
            ..."code error name: { } [ ] , \" ' = NOT_FOUND bad_id token password: is R2 api.a.com 404 # x".split(" "),
          ),
        )
        .map((all) => all.join(" ")),
    );
    fc.assert(
      fc.property(text, (each) => {
        const mask = masked(each);
        expect(masked(mask)).toBe(mask);
        expect(mask.length).toBeLessThanOrEqual(MESSAGE_MAX);
        expect(mask.isWellFormed() || !each.isWellFormed()).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("a secret", () => {
  const word = of(LOWER, [6, 12]).filter((each) => /^[b-df-hj-np-tv-xz]/.test(each));
  const phrase = fc.array(word, { minLength: 1, maxLength: 4 });
  const secret = phrase.chain((words) => fc.constantFrom(words.join("-"), words.join("_"), words.join(" ")));
  const WAYS: readonly ((secret: string) => string)[] = [
    (it) => `password: ${it}`,
    (it) => `login failed, passwd = ${it}; try again`,
    (it) => `The client_secret => '${it}' is wrong`,
    (it) => `X-Auth-Key:\t${it}`,
    (it) => `access token: expected ${it}`,
    (it) => `Passwort: ${it}`,
    (it) => `密码：${it}`,
    (it) => `verification code: ${it}`,
    (it) => `Authorization: Bearer ${it}`,
    (it) => `Authorization: ${it} ${it}`,
    (it) => `Cookie: theme=dark; sid=${it}`,
    (it) => `sent Bearer ${it}`,
    (it) => `sent Bearer token ${it}`,
    (it) => `{"user":7,"password":"${it}","code":"NOT_FOUND"}`,
    (it) => `refused {"token":{"code":"${it.split(/\W/, 1)[0]?.replaceAll("_", "")}"}}`,
    (it) => `{"message":"password: ${it}"}`,
    (it) => `{\\"password\\":\\"${it}\\"} is refused`,
    (it) => `<password>${it.replaceAll(" ", "-")}</password>`,
    (it) => `ran login --password ${it.replaceAll(" ", "-")} twice`,
    (it) => `the key sk-proj-${it.replaceAll(" ", "-")} is revoked`,
    (it) => `https://user:${it.replaceAll(" ", "-")}@db.example.com/x refused`,
  ];

  it.each(WAYS)("leaves no word of it: %s", (way) => {
    for (const each of fc.sample(secret, { numRuns: 300, seed: 38 })) {
      const mask = masked(way(each));
      expect(each.split(/[-_ ]/).filter((part) => mask.includes(part))).toEqual([]);
    }
  });

  it.each([
    "token: expired",
    "Bearer token is missing",
    "Invalid password: too short",
    "Missing secret: STRIPE_KEY",
    "Basic plan has no exports",
    "Token limit reached",
  ])("is not what is said of one: %s", (text) => {
    expect(masked(text)).toBe(text);
  });
});

describe("a message", () => {
  it.each([
    ["Cannot read properties of undefined (reading 'map')", "Cannot read properties of undefined (reading 'id')"],
    ["column 'email' does not exist", "column 'name' does not exist"],
    ["upstream answered with status 404", "upstream answered with status 502"],
    ["POST https://api.stripe.com/v1/charges failed", "POST https://api.github.com/v1/charges failed"],
    ['refused: {"code":"NOT_FOUND","id":7}', 'refused: {"code":"CONFLICT","id":7}'],
    ["env.db.prepare is not a function", "env.kv.get is not a function"],
    ["connect ECONNREFUSED 10.0.0.1:5432", "connect ETIMEDOUT 10.0.0.1:5432"],
    ["R2 put failed: 10001", "D1 put failed: 10001"],
    ["expected application/json", "expected text/html"],
  ])("keeps what tells causes apart: %s", (a, b) => {
    expect(masked(a)).not.toBe(masked(b));
  });

  it.each([
    ["t.foo is not a function", "e.foo is not a function"],
    [
      "Cannot destructure property 'a' of 't' as it is undefined.",
      "Cannot destructure property 'a' of 'n' as it is undefined.",
    ],
    [
      `Unexpected token 'h', "hello world" is not valid JSON`,
      `Unexpected token '<', "<!DOCTYPE "... is not valid JSON`,
    ],
    ["upstream answered with status 502", "upstream answered with status 503"],
    [`body ${JSON.stringify({ a: "x".repeat(5_000) })} refused`, 'body {"b":1} refused'],
    ["  two\n lines ", "two lines"],
  ])("loses what each build or reply has otherwise: %s", (a, b) => {
    expect(masked(a)).toBe(masked(b));
  });

  it("is bounded, and so is the time that it takes", { timeout: 20_000 }, () => {
    const pieces = [
      "a",
      '"',
      "'",
      "{",
      "[",
      "a.",
      "a-",
      "/",
      "@",
      "a@",
      "a@a.",
      "0",
      "a0",
      "Aa0",
      "x://",
      "::",
      "é",
      "# ",
      "id=",
      "eyJ",
      "0s ",
      "\\u0000",
      "token",
      "token: ",
      "token: the ",
      "Bearer is ",
      "password ='",
      "<token",
      "a-api.",
      "{code:a_b,",
      "R2 ",
    ];
    for (const piece of pieces)
      for (let n = 0; n < 20; n++) {
        const mask = masked(`${n} q${"abcdefghijklmnopqrst"[n]} ${piece.repeat(1e6 / piece.length)}`);
        expect(mask.length).toBeLessThanOrEqual(MESSAGE_MAX);
      }
  });
});

describe("a word", () => {
  it("is told from an id without digits", () => {
    const random = (length: number) => fc.sample(of(LOWER, length), { numRuns: 1_000, seed: 7 });
    expect(random(8).filter(isGibberish).length).toBeGreaterThan(900);
    const words =
      "Durable Object namespace binding timeout upstream downstream exceeded unauthorized subrequests handshake constructor ECONNREFUSED ENOTFOUND SQLITE CONSTRAINT getUserById ReadableStream Verbindung fehlgeschlagen Rechnungsnummer utilisateur introuvable encontrado";
    expect(words.split(" ").filter(isGibberish)).toEqual([]);
  });
});

const stack = (...frames: string[]): string => frames.map((frame) => `    at ${frame}`).join("\n");

describe("the top frame", () => {
  it.each([
    ["Object.fetch (script-0:34:28)", ""],
    ["async handleOrder (index.js:1:2)", "handleOrder"],
    ["OrderService.create (file:///app/orders.js:2:3)", "OrderService.create"],
    ["Te.create (worker.js:1:90210)", "create"],
    ["new Cart (worker.js:1:1)", "Cart"],
    ["get Cart.total [as sum] (worker.js:1:1)", "Cart.total"],
    ["handler2 (index.js:1:1)", ""],
    ["Wrapper.#load (index.js:1:1)", "Wrapper.#load"],
  ])("is named without what a build changes: %s", (frame, name) => {
    expect(topFrame(stack(frame))).toBe(name);
    expect(topFrame(`Error: at last\n${stack(frame)}`)).toBe(name);
  });

  it("is the Worker's own, and one that has a name that lasts", () => {
    const foreign = [
      "JSON.parse (<anonymous>)",
      "Array.map (<anonymous>)",
      "async Promise.all (index 0)",
      "check (/app/node_modules/zod/index.js:3:4)",
      "processTicksAndRejections (node:internal/process/task_queues:95:5)",
      "load (cloudflare-internal:d1-api:3:2)",
      "Object.<anonymous> (index.js:3:4)",
      "file:///app/dist/index.js:247:23",
      "eval (eval at run (index.js:1:1), <anonymous>:1:1)",
      "Xe (worker.js:1:4711)",
      "t.n (worker.js:1:4712)",
    ];
    expect(topFrame(stack(...foreign, "chargeCard (worker.js:1:5000)", "Object.fetch (worker.js:1:1)"))).toBe(
      "chargeCard",
    );
    expect(topFrame(stack(...foreign))).toBe("");
  });

  it("is the same behind any message, and when it comes again", () => {
    const frames = stack("load (worker.js:1:1)", "Object.fetch (worker.js:2:2)");
    for (const head of ["", "Error: a\n", "Error: b\n  c\n", `Error: ${"long ".repeat(2_000)}\n`, "Error: a\n"])
      expect(topFrame(head + frames)).toBe("load");
    expect(topFrame(frames.replace("load", "save"))).toBe("save");
    const all = Array.from({ length: 1_200 }, (_, n) => `load${"bdfghk"[n % 6]}`);
    expect(all.map((name, n) => topFrame(stack(`${name} (worker.js:${n}:1)`)))).toEqual(all);
  });

  it("is bounded", () => {
    expect(topFrame(stack(`${"x".repeat(900)} (index.js:1:1)`))).toHaveLength(80);
    for (const hostile of ["    at ", "(", "at x (", "\n", "    at x (a:1:1", " "])
      expect(topFrame(hostile.repeat(1e6 / hostile.length))).toBe("");
  });
});

describe("a problem", () => {
  const thrown = { name: "TypeError", message: "order 1 not found", stack: stack("load (worker.js:3:4)") };
  const id = (error: typeof thrown, key = '"shop"'): string => problemId(key, causeOf(error));

  it("has an id of sixteen digits, the same for what was thrown and what was logged", () => {
    expect(id(thrown)).toMatch(/^[0-9a-f]{16}$/);
    expect(id({ ...thrown, message: "Uncaught TypeError: order 2 not found" })).toBe(id(thrown));
    expect(id({ ...thrown, stack: stack("load3 (worker.js:30:40)") })).toBe(id(thrown));
  });

  it("is another one with another function, name, message or frame", () => {
    const others = [
      id(thrown, '"shop" rpc'),
      id({ ...thrown, name: "RangeError" }),
      id({ ...thrown, message: "order 1 not paid" }),
      id({ ...thrown, stack: stack("save (worker.js:3:4)") }),
      id(thrown),
    ];
    expect(new Set(others).size).toBe(5);
  });

  it("of a class that a minifier named is an error like others", () => {
    expect(causeOf({ name: "Xe", message: "", stack: "" }).name).toBe("Error");
    expect(causeOf({ name: "_NotFoundError2", message: "", stack: "" }).name).toBe("NotFoundError");
    expect(causeOf({ name: "x".repeat(100), message: "", stack: "" }).name).toHaveLength(60);
  });
});
