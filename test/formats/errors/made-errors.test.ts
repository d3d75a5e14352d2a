/** What the made errors promise: without it, what is measured with them would mean nothing. */
import { describe, expect, it } from "vitest";
import { CAUSES, type MadeError, madeErrors } from "./made-errors.ts";

const SEEDS = [1, 2, 3, 38, 2_026];
const ALL = SEEDS.map((seed) => madeErrors(seed));
const FIRST = ALL[0] as MadeError[];

const of = (errors: readonly MadeError[], cause: number): MadeError[] =>
  errors.filter((error) => error.cause === cause);
const distinct = (values: Iterable<unknown>): number => new Set(values).size;
const everyCause = (errors: readonly MadeError[]): MadeError[][] => CAUSES.map((_, cause) => of(errors, cause));

/** The first frame of the Worker's own code, without its position. */
function topOwn(error: MadeError): string | undefined {
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  const own = frames.filter((line) => !/node_modules|<anonymous>|node:|cloudflare/.test(line));
  return own[0]?.replace(/:\d+:\d+/, "");
}

describe("made errors", () => {
  it("are of 30 causes over eight Workers, each cause at least five times", () => {
    expect(CAUSES).toHaveLength(30);
    for (const errors of ALL) {
      expect(errors).toHaveLength(1_000);
      expect(Math.min(...everyCause(errors).map(({ length }) => length))).toBeGreaterThanOrEqual(5);
      expect(distinct(errors.map(({ worker }) => worker))).toBe(8);
    }
  });

  it("have rare causes among them, each at least once in 200", () => {
    for (let seed = 0; seed < 30; seed++) expect(distinct(madeErrors(seed, 200).map(({ cause }) => cause))).toBe(30);
    const counts = everyCause(FIRST).map(({ length }) => length);
    expect(Math.max(...counts)).toBeGreaterThan(Math.min(...counts) * 8);
  });

  it("are the same for the same seed, and others for another", () => {
    expect(madeErrors(1)).toEqual(FIRST);
    const varied = FIRST.filter(({ cause }) => !CAUSES[cause]?.isConstant).map(({ message }) => message);
    const others = new Set(ALL[1]?.map(({ message }) => message));
    expect(varied.filter((message) => others.has(message)).length).toBeLessThan(varied.length / 20);
  });

  it("are as many as asked for", () => {
    expect(madeErrors(1, 0)).toEqual([]);
    expect(madeErrors(1, 77)).toHaveLength(77);
  });

  it("differ within a cause, except for causes whose message is constant", () => {
    const constant = CAUSES.flatMap(({ isConstant }, cause) => (isConstant ? [cause] : []));
    expect(constant).toEqual([0, 1, 12, 16, 18, 28]);
    for (const errors of ALL) {
      for (const [cause, its] of everyCause(errors).entries()) {
        const messages = distinct(its.map(({ message }) => message));
        const whole = distinct(its.map((error) => JSON.stringify(error)));
        if (!constant.includes(cause)) expect(whole, `cause ${cause}`).toBeGreaterThanOrEqual(its.length * 0.9);
        else expect(messages, `cause ${cause}`).toBe(1);
        // The stacks differ then; cause 18 has none.
        if (constant.includes(cause) && cause !== 18) expect(whole, `cause ${cause}`).toBeGreaterThan(its.length / 2);
      }
    }
  });

  it("keep per cause the Worker, the name, the top function and whether there is a stack", () => {
    for (const its of ALL.flatMap(everyCause)) {
      expect(distinct(its.map(({ worker, name, stack }) => `${worker} ${name} ${stack === null}`))).toBe(1);
      expect(distinct(its.map((error) => `${error.version} ${topOwn(error)}`))).toBe(
        distinct(its.map((e) => e.version)),
      );
      if (its[0]?.stack?.includes("worker.js") === false) expect(distinct(its.map(topOwn))).toBe(1);
    }
  });

  it("come from two or three versions of each Worker, whose positions differ", () => {
    const topLines = new Map<string, Map<string, Set<string>>>();
    for (const { worker, version, cause, stack } of FIRST) {
      const place = stack?.match(/ \(?(?:src\/|index\.js|worker\.js)\S*/)?.[0] ?? "";
      const versions = topLines.get(`${worker} ${cause}`) ?? new Map<string, Set<string>>();
      topLines.set(`${worker} ${cause}`, versions.set(version, (versions.get(version) ?? new Set()).add(place)));
    }
    const perWorker = Map.groupBy(FIRST, ({ worker }) => worker);
    for (const its of perWorker.values()) expect([2, 3]).toContain(distinct(its.map(({ version }) => version)));
    for (const versions of topLines.values()) {
      // One place per version; of two versions, not the same.
      for (const places of versions.values()) expect(places.size).toBe(1);
      const places = [...versions.values()].map((it) => [...it][0]);
      if (places[0] !== "" && places.length > 1) expect(distinct(places)).toBeGreaterThan(1);
    }
  });

  it("have other minified names in some versions, and the same for all errors of one", () => {
    const names = ALL.flatMap((errors) => [13, 14, 16, 17].map((cause) => distinct(of(errors, cause).map(topOwn))));
    expect(Math.max(...names)).toBe(3);
    expect(Math.min(...names)).toBe(1);
  });

  it("have stacks that begin with the name and the message, of frames of all forms", () => {
    for (const { name, message, stack } of FIRST) {
      if (stack === null) continue;
      expect(stack.startsWith(`${name}: ${message}\n    at `)).toBe(true);
      for (const frame of stack.slice(name.length + message.length + 3).split("\n"))
        expect(frame).toMatch(
          /^ {4}at (?:async |new )*(?:[\w$.#]+ \()?(?:[^\s()]+:\d+:\d+|<anonymous>|index \d+|cloudflare:sockets)\)?$/,
        );
    }
    const stacks = FIRST.map(({ stack }) => stack ?? "").join("\n");
    const forms = [
      "node_modules/hono/",
      /node_modules\/\.pnpm\/stripe@\d/,
      "node:internal/",
      "cloudflare-internal:d1-api",
      /at new \w+ \(/,
      /at new [\w$]+ \(worker\.js:\d:\d+\)/,
      /at async Object\.fetch \(worker\.js:/,
      /at [\w$]{1,2} \(worker\.js:/,
      /at worker\.js:\d+:\d+/,
      /at \w+\.\w+ \(index\.js:/,
      /at \w+\.#\w+ \(src\//,
      /Promise\.all \(index \d+\)/,
    ];
    for (const form of forms) expect(stacks).toMatch(form);
  });

  it("include long texts, several lines, no stack, both kinds, and other scripts", () => {
    for (const errors of ALL) {
      expect(errors.filter(({ message }) => message.length > 1_024).length).toBeGreaterThan(20);
      expect(errors.filter(({ message }) => message.includes("\n")).length).toBeGreaterThan(50);
      expect(errors.filter(({ stack }) => stack === null).length).toBeGreaterThan(30);
      expect(errors.filter(({ kind }) => kind === "logged").length).toBeGreaterThan(200);
      expect(
        errors.filter(({ message }) => /\p{L}/u.test(message.replace(/\p{Script=Latin}/gu, ""))).length,
      ).toBeGreaterThan(20);
    }
  });

  it("include pairs of causes that differ in one thing only", () => {
    const both = (one: number, other: number, as: (error: MadeError) => unknown): [unknown, unknown] => [
      as(of(FIRST, one)[0] as MadeError),
      as(of(FIRST, other)[0] as MadeError),
    ];
    // The property that is read, in one function.
    expect(both(0, 1, topOwn)[0]).toBe(both(0, 1, topOwn)[1]);
    expect(both(0, 1, ({ message }) => message.replace(/'\w+'/, ""))).toEqual(
      Array(2).fill("Cannot read properties of undefined (reading )"),
    );
    // The verb.
    expect(both(6, 7, topOwn)[0]).toBe(both(6, 7, topOwn)[1]);
    expect(both(6, 7, ({ message }) => message.slice(0, 16))).toEqual(["Could not captur", "Could not refund"]);
    // The function on top.
    expect(both(8, 9, ({ message }) => message.replace(/^Order \S+/, "Order"))).toEqual(
      Array(2).fill("Order not found"),
    );
    expect(both(8, 9, topOwn)).toEqual([
      "    at loadOrder (src/orders/load.ts)",
      "    at applyVoucher (src/vouchers/apply.ts)",
    ]);
    // The Worker.
    expect(both(12, 28, ({ name, message }) => `${name}: ${message}`)).toEqual(
      Array(2).fill("Error: Network connection lost."),
    );
    expect(both(12, 28, ({ worker }) => worker)).toEqual(["billing", "live-rooms"]);
  });
});
