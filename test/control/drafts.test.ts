import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type ControlPlane, controlPlane } from "../../src/control/plane.ts";
import { DRAFT_MS, DRAFTS_MAX, DRAFTS_OF_OWNER_MAX } from "../../src/limits.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";

const plane = () => controlPlane(env.CONTROL);
const ids = async (owner: string): Promise<string[]> => (await plane().drafts(owner)).map(({ id }) => id);
const rows = () =>
  runInDurableObject(plane(), (_plane: ControlPlane, { storage }) =>
    Number(storage.sql.exec("SELECT count(*) AS n FROM draft").one().n),
  );

describe("drafts of jobs", () => {
  it("are their owner's alone", async () => {
    setClock(NOON);
    expect(await plane().saveDraft("d1", "member:a", "sealed by a")).toBe(true);
    expect(await plane().draft("d1", "member:a")).toEqual({ id: "d1", sealed: "sealed by a", changedMs: NOON });
    for (const owner of ["member:b", "token:a", "", "member:a "]) {
      expect(await plane().draft("d1", owner)).toBeNull();
      expect(await plane().takeDraft("d1", owner)).toBeNull();
      expect(await plane().saveDraft("d1", owner, "sealed by another")).toBe(false);
      expect(await ids(owner)).toEqual([]);
    }
    expect(await plane().draft("d1", "member:a")).toMatchObject({ sealed: "sealed by a" });
  });

  it("outlive the object in memory, and are taken once", async () => {
    await plane().saveDraft("d1", "member:a", "one");
    await plane().saveDraft("d1", "member:a", "two");
    await evictDurableObject(plane());
    const taken = await Promise.all([plane().takeDraft("d1", "member:a"), plane().takeDraft("d1", "member:a")]);
    expect(taken.map((draft) => draft?.sealed ?? null).sort()).toEqual(["two", null].sort());
    expect(await plane().draft("d1", "member:a")).toBeNull();
  });

  it("live for a week after their last change, and are swept when another one is saved", async () => {
    const clock = setClock(NOON);
    await plane().saveDraft("old", "member:a", "x");
    await plane().saveDraft("changed", "member:a", "x");
    clock.advance(DRAFT_MS - 1);
    expect(await ids("member:a")).toEqual(["changed", "old"]);
    await plane().saveDraft("changed", "member:a", "y");
    clock.advance(1);
    expect(await plane().draft("old", "member:a")).toBeNull();
    expect(await plane().takeDraft("old", "member:a")).toBeNull();
    expect(await ids("member:a")).toEqual(["changed"]);
    expect(await rows()).toBe(2);
    await plane().saveDraft("another", "member:b", "x");
    expect(await rows()).toBe(2);
  });

  it("are as many as an owner may have: the ones that were not changed for the longest time go", async () => {
    const clock = setClock(NOON);
    await plane().saveDraft("other", "member:b", "x");
    for (let i = 0; i <= DRAFTS_OF_OWNER_MAX; i++) {
      clock.advance(1);
      await plane().saveDraft(`d${i}`, "member:a", "x");
      if (i === 2) await plane().saveDraft("d0", "member:a", "changed");
    }
    const left = await ids("member:a");
    expect(left).toHaveLength(DRAFTS_OF_OWNER_MAX);
    expect(left).toContain("d0");
    expect(left).not.toContain("d1");
    expect(await ids("member:b")).toEqual(["other"]);
  });

  it("are as many as the account may have, and the one just saved stays whatever the clock says", async () => {
    const clock = setClock(NOON);
    await runInDurableObject(plane(), (_plane: ControlPlane, { storage }) => {
      for (let i = 0; i < DRAFTS_MAX; i++)
        storage.sql.exec("INSERT INTO draft VALUES (?, ?, 'x', ?)", `f${i}`, `member:${i}`, NOON + i);
    });
    clock.advance(-1_000);
    expect(await plane().saveDraft("new", "member:a", "x")).toBe(true);
    expect(await rows()).toBe(DRAFTS_MAX);
    expect(await ids("member:a")).toEqual(["new"]);
    expect(await ids("member:0")).toEqual([]);
  });
});
