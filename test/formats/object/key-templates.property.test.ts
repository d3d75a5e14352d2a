/** Placeholders of a path: what they tell apart, and what never stands in a key. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Length } from "../../../src/base/bytes.ts";
import { TIME_MAX_MS } from "../../../src/base/limits.ts";
import { dayOf } from "../../../src/base/time.ts";
import {
  fillOf,
  folderOf,
  isPartOf,
  keyBelow,
  leadsTo,
  misspeltIn,
  PROBE_DAY,
  partOf,
  readTemplate,
  scriptFolder,
} from "../../../src/formats/object/keys.ts";
import {
  parseDestination,
  parseNewDestination,
  parsePlace,
  sameFolderOn,
} from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION } from "../../ship/destinations/context.ts";

/** Any text a sender may send as a name, halves of surrogate pairs among it. */
const name = fc.oneof(
  fc.constantFrom("", ".", "..", "...", "a.", "_test", "_mixed", "_none", "_logship", "%5Ftest", "a/b", "a%2Fb", "\0"),
  fc.constantFrom("\ud800", "\ud801", "a\udc00", "x".repeat(128), "x".repeat(129), "é".repeat(22), "€".repeat(60)),
  fc.string(),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.tuple(fc.string({ maxLength: 3 }), fc.nat({ max: 300 })).map(([text, n]) => text.repeat(n)),
);
const time = fc.integer({ min: 0, max: TIME_MAX_MS });
const PATHS = [
  "logs/{DATE}",
  "{SCRIPT}",
  "{DATE_ISO}/{HOUR}",
  "a/{YYYY}/{MM}/{DD}/{HOUR}/{SCRIPT}/z",
  "script={SCRIPT}/dt={DATE_ISO}/hour={HOUR}",
  "{SCRIPT}{HOUR}",
  ".{SCRIPT}",
  "{HOUR}/{SCRIPT}/{SCRIPT}",
] as const;
const path = fc.constantFrom(...PATHS);

const keyOf = (template: string, ms: number, script: string): string =>
  folderOf(
    template,
    fillOf(
      dayOf(ms),
      ms,
      partOf(readTemplate(template), ms, () => script),
    ),
  );

describe("the folder of a script", () => {
  it("is never that of another one", () => {
    // Also against names that are the folder of another, or end as one that was cut.
    const two = fc.oneof(
      fc.tuple(name, name),
      name.map((one): [string, string] => [one, scriptFolder(one)]),
      fc.tuple(name, name).map(([one, other]): [string, string] => [one, other + scriptFolder(one).slice(-33)]),
    );
    fc.assert(
      fc.property(two, ([one, other]) => {
        expect(scriptFolder(one) === scriptFolder(other)).toBe(one === other);
      }),
      { numRuns: 5_000 },
    );
  });

  it("has at most 128 bytes, all unreserved or percent-encoded, and is no segment that is swallowed", () => {
    fc.assert(
      fc.property(name, (each) => {
        const folder = scriptFolder(each);
        expect(folder).toMatch(/^(?:[A-Za-z0-9._~-]|%[0-9A-F]{2}){1,128}$/);
        expect(folder.length).toBeLessThanOrEqual(128);
        expect(folder.endsWith(".")).toBe(false);
        // No character is cut in two: what is kept can be decoded.
        const kept = decodeURIComponent(folder.replace(/~[0-9a-f]{32}$/, ""));
        if (each !== "" && each.isWellFormed()) expect(each.startsWith(kept)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  it("is the name, as decodeURIComponent gives it back, where that is short and none of ours", () => {
    const plain = fc.string({ unit: "binary", minLength: 1, maxLength: 10 }).filter((each) => each.isWellFormed());
    fc.assert(
      fc.property(plain, (each) => {
        expect(decodeURIComponent(scriptFolder(each))).toBe(each);
      }),
    );
    const cases = {
      shop: "shop",
      "a b/c": "a%20b%2Fc",
      "": "_none",
      _test: "%5Ftest",
      "..": "%2E%2E",
      "!'()*": "%21%27%28%29%2A",
    };
    for (const [each, folder] of Object.entries(cases)) expect(scriptFolder(each)).toBe(folder);
    expect(scriptFolder("é".repeat(30))).toMatch(/^(%C3%A9){15}~[0-9a-f]{32}$/);
  });
});

describe("a key", () => {
  it("differs wherever the template tells apart, and only there", () => {
    const near = fc
      .tuple(time, fc.integer({ min: -90_000_000, max: 90_000_000 }))
      .map(([a, more]): [number, number] => [a, Math.min(Math.max(a + more, 0), TIME_MAX_MS)]);
    fc.assert(
      fc.property(fc.constantFrom(...PATHS.slice(1)), near, fc.tuple(name, name), (each, [a, b], [one, other]) => {
        const template = readTemplate(each);
        const isSamePart =
          (!template.hour || Math.floor(a / 3_600_000) % 24 === Math.floor(b / 3_600_000) % 24) &&
          (!template.script || one === other);
        expect(partOf(template, a, () => one) === partOf(template, b, () => other)).toBe(isSamePart);
        if (dayOf(a) === dayOf(b)) expect(keyOf(each, a, one) === keyOf(each, b, other)).toBe(isSamePart);
      }),
      { numRuns: 3_000 },
    );
  });

  it("has no empty segment, nor . or .., by anything that a record says", () => {
    fc.assert(
      fc.property(path, time, name, (each, ms, script) => {
        for (const segment of keyOf(each, ms, script).split("/")) expect(["", ".", ".."]).not.toContain(segment);
      }),
      { numRuns: 3_000 },
    );
  });

  it("leaves other braces than those of a placeholder as they are", () => {
    const fill = fillOf(20_777, Date.UTC(2026, 10, 20, 5), "");
    expect(folderOf("{date}/{Hour}/{X}/{{DATE}}/{DATE", fill)).toBe("{date}/{Hour}/{X}/{20261120}/{DATE");
  });

  it("of an object that is of no one hour or script: that of its first event, and _mixed", () => {
    expect(folderOf("{HOUR}/{SCRIPT}", fillOf(20_777, Date.UTC(2026, 10, 20, 5, 59), ""))).toBe("05/_mixed");
    expect(folderOf("{HOUR}/{SCRIPT}", fillOf(20_777, Date.UTC(2026, 10, 20, 5, 59), "/shop"))).toBe("05/shop");
  });

  it("of a probe has values that no object has", () => {
    const all = "{DATE}/{DATE_ISO}/{YYYY}/{MM}/{DD}/{HOUR}/{SCRIPT}";
    expect(keyBelow(all, PROBE_DAY, "test")).toBe("00010101/0001-01-01/0001/01/01/00/_test/test");
  });

  it("is at most 1,024 bytes below every destination that is taken", () => {
    const conf = (text: string) => `s3://traces/${text}?region=auto&access-key-id=a&secret-access-key=b`;
    const taken = (text: string) => parseDestination(conf(text), PRODUCTION).ok;
    expect([taken("{SCRIPT}/".repeat(6)), taken("{SCRIPT}/".repeat(7))]).toEqual([true, false]);
    const longest = keyOf("{SCRIPT}/".repeat(6), TIME_MAX_MS, "€".repeat(999));
    expect(utf8Length(`${longest}/20261120T101500Z_20261120T101529Z_5c1e77a0.log.gz`)).toBeLessThanOrEqual(1_024);
  });
});

describe("a part of a day", () => {
  it("fits the template that it was made by, and none that tells apart something else", () => {
    fc.assert(
      fc.property(path, path, time, name, (each, other, ms, script) => {
        const [made, asked] = [readTemplate(each), readTemplate(other)];
        const isSame = made.hour === asked.hour && made.script === asked.script;
        expect(
          isPartOf(
            asked,
            partOf(made, ms, () => script),
          ),
        ).toBe(isSame);
      }),
    );
    for (const part of ["5", "005", "/", "05/", "05/a/b", "/a/b", "a"])
      for (const each of PATHS) expect(isPartOf(readTemplate(each), part)).toBe(false);
  });

  it("does not ask for a script's name that makes no difference", () => {
    const asked = () => {
      throw new Error("asked");
    };
    expect(partOf(readTemplate("{DATE_ISO}/{HOUR}"), 0, asked)).toBe("00");
  });
});

describe("what is no placeholder", () => {
  const conf = (text: string) =>
    `s3://traces/${text}?region=auto&endpoint=store.example&access-key-id=a&secret-access-key=b`;

  it.each([
    ["{date}", "{DATE}"],
    ["{Hour}", "{HOUR}"],
    ["{hh}", "{HOUR}"],
    ["{year}", "{YYYY}"],
    ["{mm}", "{MM}"],
    ["{Day}", "{DD}"],
    ["{YYYY-MM-DD}", "{DATE}"],
    ["{iso_date}", "{DATE_ISO}"],
    ["{ScriptName}", "{SCRIPT}"],
  ])(
    "%s is refused in a new destination, where %s is likely meant, and stays as it is in a stored one",
    (text, meant) => {
      const why = `${text} in the path is not a placeholder; write ${meant}`;
      expect(parseNewDestination(conf(`logs/${text}`), PRODUCTION)).toEqual({ ok: false, why });
      expect(parseDestination(conf(`logs/${text}`), PRODUCTION)).toMatchObject({ value: { path: `logs/${text}` } });
    },
  );

  it.each(["{}", "{x}", "{tenant}", "{{DATE}}", "{DATE", "a}b{c", "{DATE}{HOUR}"])("%s is taken", (text) => {
    expect(misspeltIn(text)).toBeNull();
    expect(parseNewDestination(conf(`logs/${text}`), PRODUCTION).ok).toBe(true);
  });
});

describe("two templates", () => {
  const place = (text: string) => {
    const read = parsePlace(`s3://traces/${text}?region=auto`, PRODUCTION);
    if (!read.ok) throw new Error(read.why);
    return read.value;
  };
  const day = 20_777;
  it.each([
    ["logs/{DATE}", "logs/20261120", true],
    ["logs/{DATE}", "logs/20261122", false],
    ["logs/{DATE}", "logs/{YYYY}{MM}{DD}", true],
    ["logs/{YYYY}/{MM}/{DD}", "logs/2026/11/20", true],
    ["logs/{YYYY}/{MM}/{DD}", "logs/2026/11/22", false],
    ["dt={DATE_ISO}/hour={HOUR}", "dt=2026-11-20/hour=23", true],
    ["dt={DATE_ISO}/hour={HOUR}", "dt=2026-11-20/hour=24", false],
    ["{DATE_ISO}/{SCRIPT}", "{YYYY}-{MM}-{DD}/{SCRIPT}", true],
    ["{DATE_ISO}/{SCRIPT}", "{DATE_ISO}/copies", false],
    ["{DATE}", "{HOUR}", false],
  ])("%s and %s lead to one folder on some hour of a day: %s", (a, b, isSame) => {
    expect(sameFolderOn(place(a), place(b), { from: day - 1, to: day + 1 })).toBe(isSame);
  });

  it("lead to the folders that they fill, whatever the script", () => {
    fc.assert(
      fc.property(path, time, name, (each, ms, script) => {
        const fill = fillOf(dayOf(ms), ms, "");
        expect(leadsTo(each, fill, keyOf(each, ms, script))).toBe(true);
        expect(leadsTo(`${each}/x`, fill, keyOf(each, ms, script))).toBe(false);
      }),
    );
    expect(leadsTo("a.b/{SCRIPT}", PROBE_DAY, "aXb/shop")).toBe(false);
    expect(leadsTo("{SCRIPT}", PROBE_DAY, "a/b")).toBe(false);
  });
});
