import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { AUDIT_MAX, AUDIT_MERGE_MS, AUDIT_OF_ONE_MAX, AUDIT_TEXT_MAX } from "../../../src/base/limits.ts";
import type { AuditEntry } from "../../../src/state/access/audit-book.ts";
import { AccessRegister, accessRegister } from "../../../src/state/access/register.ts";
import { impatiently } from "../../faults/impatience.ts";
import { NOON } from "../../formats/record/samples.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { breakable } from "../../support/runtime/breakage.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { call, freshBucket, intake, listJobs } from "./harness.ts";
import { member, token } from "./principals.ts";

const DAY_MS = 86_400_000;

interface Entry {
  id: number;
  at: string;
  times: number;
  first_at: string;
  actor: { kind: string; id: string; name: string };
  action: string;
  resource: string | null;
  outcome: string;
  body: Record<string, unknown> | null;
  request_id: string | null;
}

/** Newest first. */
const audit = async (query = ""): Promise<Entry[]> =>
  (await call<Entry[]>("GET", `/logship/audit${query}`)).body.result;

const changes = async () => (await audit()).map(({ action, resource }) => [action, resource]);

const ENTRY: Omit<AuditEntry, "action"> = {
  ...{ actor: { kind: "admin", id: "admin", name: "x" }, resource: null, outcome: "done", body: null, requestId: null },
};

/** Writes entries with numbers for one of their fields, at once and without any bound. */
function fill(sql: SqlStorage, field: "action" | "resource", count: number, entry: AuditEntry, atMs: number): void {
  sql.exec(
    `INSERT INTO audit (at_ms, entry) WITH RECURSIVE of(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM of WHERE n + 1 < ?)
       SELECT ?, json_set(?, '$.${field}', CAST(n AS TEXT)) FROM of`,
    ...[count, atMs, JSON.stringify(entry)],
  );
}

function failing() {
  return vi.spyOn(console, "error").mockImplementation(() => {});
}

describe("the audit", () => {
  it("has every change that succeeded: who, what, when, and what was sent", async () => {
    const clock = setClock(NOON);
    const { id, headers } = await token(["logs:edit", "logs:read"]);
    clock.advance(1_000);
    const conf = destinationConf(freshBucket().name);
    const sent = { name: "all", destination_conf: conf, ownership_challenge: "a-challenge-of-mine" };
    const answer = await call("POST", "/logship/jobs", sent, { headers });
    const [entry] = await audit();
    expect(entry).toEqual({
      id: expect.any(Number),
      at: new Date(NOON + 1_000).toISOString(),
      times: 1,
      first_at: new Date(NOON + 1_000).toISOString(),
      actor: { kind: "token", id, name: "ci" },
      action: "job.create",
      resource: "1",
      outcome: "done",
      body: { name: "all", destination_conf: conf.replace(ACCESS_KEY, "****").replace(SECRET_KEY, "****") },
      request_id: answer.headers.get("x-request-id"),
    });
  });

  it("has each kind of change, by either spelling of its path", async () => {
    const { id } = await token(["logs:read"]);
    const ada = await member("Log Share");
    await call("POST", "/logpush/jobs", { destination_conf: destinationConf(freshBucket().name) });
    await call("PUT", "/logship/jobs/1", { name: "x" });
    await call("POST", "/logship/jobs/1/flush");
    await call("DELETE", "/logpush/jobs/1");
    await call("PATCH", "/workers/scripts/my%20shop/script-settings", { logpush: true });
    await call("DELETE", "/functions/scripts/my%20shop");
    await call("PUT", `/members/${ada.id}`, { role: "Log Share Reader" });
    await call("DELETE", `/members/${ada.id}`);
    await call("DELETE", `/tokens/${id}`);
    expect((await changes()).reverse()).toEqual([
      ["token.create", id],
      ["member.create", ada.id],
      ["job.create", "1"],
      ["job.update", "1"],
      ["job.flush", "1"],
      ["job.delete", "1"],
      ["function.update", "my shop"],
      ["function.delete", "my shop"],
      ["member.update", ada.id],
      ["member.delete", ada.id],
      ["token.delete", id],
    ]);
  });

  it("has nothing that was only read, refused, or sent as events", async () => {
    const { headers } = await token(["logs:read"]);
    const { options } = intake();
    await call("GET", "/logship/jobs");
    await call("POST", "/logship/jobs", { destination_conf: "s3://x" });
    await call("POST", "/logship/jobs", { destination_conf: destinationConf(freshBucket().name) }, { headers });
    await call("DELETE", "/logship/jobs/7");
    await call("PUT", "/logship/jobs", {});
    await call("POST", "/tokens", {});
    await call("POST", "/logship/datasets/functions_trace_events/events", { event: null }, options);
    expect((await changes()).map(([action]) => action)).toEqual(["token.create"]);
  });

  it("has what may have been made though nobody was told so, and says that", async () => {
    failing();
    const { id } = await token(["logs:read"]);
    vi.spyOn(AccessRegister.prototype, "removeToken").mockImplementation(() => {
      throw new Error("the answer is lost");
    });
    expect((await call("DELETE", `/tokens/${id}`)).status).toBe(503);
    expect((await audit())[0]).toMatchObject({ action: "token.delete", resource: id, outcome: "unconfirmed" });
  });

  it("cuts long texts, between characters", async () => {
    const name = `${"x".repeat(AUDIT_TEXT_MAX - 1)}😀 and more`;
    const filter = JSON.stringify({ where: { key: "ScriptName", operator: "eq", value: name } });
    const answer = await call("POST", "/logship/jobs", {
      destination_conf: destinationConf(freshBucket().name),
      filter,
    });
    expect(answer.status).toBe(201);
    const [entry] = await audit();
    expect(entry?.body?.filter).toBe(`${filter.slice(0, AUDIT_TEXT_MAX)}…`);
  });

  it("is read in pages, newest first, by either spelling, and by nobody who may only read logs", async () => {
    for (let n = 0; n < 5; n++) await call("POST", "/tokens", { name: `${n}`, permissions: ["logs:read"] });
    const page = await call<Entry[]>("GET", "/logpush/audit?page=2&per_page=2");
    expect(page.body.result.map(({ body }) => body?.name)).toEqual(["2", "1"]);
    expect(page.body.result_info).toEqual({ count: 2, page: 2, per_page: 2, total_count: 5 });
    expect((await call("GET", "/logship/audit?per_page=101")).status).toBe(400);
    const { headers } = await member("Log Share");
    expect((await call("GET", "/logship/audit", undefined, { headers })).status).toBe(403);
  });

  it("forgets after 90 days, and the oldest of more than 5,000", async () => {
    const clock = setClock(NOON);
    await runInDurableObject(accessRegister(env.ACCESS), (register, { storage: { sql } }) => {
      const actions = (offset: number): string[] => register.audit(offset, 10).entries.map(({ action }) => action);
      const note = (action: string) => register.note({ ...ENTRY, action });
      note("old");
      clock.advance(90 * DAY_MS);
      note("older than the next");
      expect(actions(0)).toEqual(["older than the next", "old"]);
      clock.advance(1);
      expect([actions(0), register.audit(0, 10).total]).toEqual([["older than the next"], 1]);
      fill(sql, "action", AUDIT_MAX - 2, { ...ENTRY, action: "" }, clock.nowMs());
      for (let n = AUDIT_MAX - 2; n < AUDIT_MAX + 3; n++) note(`${n}`);
      expect([actions(AUDIT_MAX - 1), register.audit(0, 1).total]).toEqual([["3"], AUDIT_MAX]);
      clock.advance(91 * DAY_MS);
      note("new");
      expect([actions(0), sql.exec("SELECT count(*) AS n FROM audit").one().n]).toEqual([["new"], 1]);
    });
  });

  it("has nothing that changed nothing", async () => {
    await call("POST", "/logship/jobs", { destination_conf: destinationConf(freshBucket().name), name: "x" });
    const ada = await member("Log Share");
    const { result } = (await call<object>("GET", "/logship/jobs/1")).body;
    for (const body of [{}, { name: "x" }, result])
      expect((await call("PUT", "/logship/jobs/1", body)).status).toBe(200);
    expect((await call("PUT", `/members/${ada.id}`, { role: "Log Share" })).status).toBe(200);
    expect((await changes()).map(([action]) => action)).toEqual(["member.create", "job.create"]);
    await call("PUT", "/logship/jobs/1", { name: "y" });
    expect((await changes())[0]).toEqual(["job.update", "1"]);
  });

  it("has the same change, made again and again, as one entry", async () => {
    const clock = setClock(NOON);
    await call("POST", "/logship/jobs", { destination_conf: destinationConf(freshBucket().name) });
    const { headers } = await token(["logs:edit"]);
    for (let n = 0; n < 3; n++) {
      clock.advance(60_000);
      await call("POST", "/logship/jobs/1/flush", undefined, { headers });
      await call("PUT", "/logship/jobs/1", { name: `${n % 2}` }, { headers });
    }
    await call("POST", "/logship/jobs/1/flush");
    const at = (minutes: number): string => new Date(NOON + minutes * 60_000).toISOString();
    expect(
      (await audit()).map(({ action, actor, times, first_at, at }) => [action, actor.kind, times, first_at, at]),
    ).toEqual([
      ["job.flush", "admin", 1, at(3), at(3)],
      ["job.update", "token", 1, at(3), at(3)],
      ["job.flush", "token", 3, at(1), at(3)],
      ["job.update", "token", 1, at(2), at(2)],
      ["job.update", "token", 1, at(1), at(1)],
      ["token.create", "admin", 1, at(0), at(0)],
      ["job.create", "admin", 1, at(0), at(0)],
    ]);
    clock.advance(AUDIT_MERGE_MS + 1);
    await call("POST", "/logship/jobs/1/flush", undefined, { headers });
    expect((await audit())[0]).toMatchObject({ action: "job.flush", times: 1 });
  });

  it("cannot be flushed out: one caller has 500 entries of a kind, and changes of access are counted apart", async () => {
    setClock(NOON);
    await runInDurableObject(accessRegister(env.ACCESS), (register, { storage: { sql } }) => {
      const by = (id: string) => ({ ...ENTRY, actor: { kind: "token" as const, id, name: "x" } });
      const note = (id: string, action: string, resource: string) => register.note({ ...by(id), action, resource });
      const counts = (): Record<string, number> => {
        const { total } = register.audit(0, 1);
        const all = register.audit(0, total).entries.map(({ actor, action }) => `${actor.id} ${action}`);
        return Object.fromEntries([...Map.groupBy(all, (each) => each)].map(([name, list]) => [name, list.length]));
      };
      note("victim", "token.delete", "1");
      note("victim", "job.delete", "1");
      for (let n = 0; n < AUDIT_OF_ONE_MAX + 10; n++) note("attacker", "job.update", `${n}`);
      expect(counts()).toEqual({
        "victim token.delete": 1,
        "victim job.delete": 1,
        "attacker job.update": AUDIT_OF_ONE_MAX,
      });
      // More kinds than there is room for: each of the largest gives way.
      for (let kind = 0; kind < 8; kind++)
        fill(sql, "resource", AUDIT_OF_ONE_MAX, { ...by("attacker"), action: `kind.${kind}` }, NOON);
      for (let kind = 8; kind < 11; kind++)
        for (let n = 0; n < AUDIT_OF_ONE_MAX; n++) note("attacker", `kind.${kind}`, `${n}`);
      const { "victim token.delete": access, "victim job.delete": other, ...attacked } = counts();
      expect([access, other]).toEqual([1, 1]);
      expect(Object.values(attacked).reduce((sum, n) => sum + n, 0)).toBe(AUDIT_MAX - 1);
      expect(register.audit(0, 1).entries[0]).toMatchObject({ action: "kind.10", resource: `${AUDIT_OF_ONE_MAX - 1}` });
      // Those who may edit access flush out only what they did themselves.
      for (let n = 0; n < AUDIT_OF_ONE_MAX + 10; n++) note("attacker", "token.create", `${n}`);
      expect(counts()).toMatchObject({ "victim token.delete": 1, "attacker token.create": AUDIT_OF_ONE_MAX });
    });
  });

  it("keeps what a caller did among changes of other fields, and logs what makes room", async () => {
    setClock(NOON);
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    await runInDurableObject(accessRegister(env.ACCESS), (register) => {
      const note = (resource: string, body: unknown) =>
        register.note({ ...ENTRY, action: "job.update", resource, body });
      for (let n = 0; n < 300; n++) note("1", { name: `${n}` });
      note("1", { destination_conf: "r2://mine" });
      note("2", { name: "x" });
      for (let n = 300; n < 900; n++) note("1", { name: `${n}` });
      const { entries, total } = register.audit(0, AUDIT_OF_ONE_MAX);
      expect(total).toBe(AUDIT_OF_ONE_MAX);
      expect(entries.filter(({ body }) => body !== null && "destination_conf" in (body as object))).toHaveLength(1);
      expect(entries.filter(({ resource }) => resource === "2")).toHaveLength(1);
    });
    expect(warned).toHaveBeenCalledTimes(902 - AUDIT_OF_ONE_MAX);
    expect(JSON.stringify(warned.mock.calls[0])).toContain("an entry of the audit made room");
  });

  it("that cannot be written leaves the change as it is, and the log says so, without what was sent", async () => {
    const logged = failing();
    vi.spyOn(AccessRegister.prototype, "note").mockImplementation(() => {
      throw new Error("the disk is full");
    });
    const answer = await call("POST", "/logship/jobs", { destination_conf: destinationConf(freshBucket().name) });
    expect([answer.status, (await listJobs()).length]).toEqual([201, 1]);
    const line = JSON.stringify(logged.mock.calls);
    expect(line).toContain("a change is missing in the audit");
    expect(line).toContain("job.create");
    expect(line).not.toContain(SECRET_KEY);
  });

  it("that hangs keeps nobody waiting for ever: the change stands", async () => {
    failing();
    const { stuck } = breakable(AccessRegister.prototype, "note", () => "hangs");
    const body = { name: "x", permissions: ["logs:read"] };
    const answer = await impatiently(stuck, () => call("POST", "/tokens", body));
    expect([answer.status, stuck()]).toEqual([201, 1]);
  });
});
