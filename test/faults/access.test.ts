/**
 * The access register fails. A sender seen recently keeps sending, an unknown token gets no access,
 * and no change is left half made.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { ACCESS_COPY_MS, ACCESS_SHARDS, ACCESS_SPREAD_AT, SENDER_MEMORY_MS } from "../../src/base/limits.ts";
import { hashOf } from "../../src/formats/secrets/credentials.ts";
import { AccessRegister } from "../../src/index.ts";
import type { Proof } from "../../src/state/access/proofs.ts";
import { accessRegister, accessShard } from "../../src/state/access/register.ts";
import { cells } from "../support/matrix.ts";
import { BREAKAGES, type Breakage, PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import type { World } from "../support/runtime/world.ts";
import { call } from "../web/api/harness.ts";
import { bearer, type Headers, token } from "../web/api/principals.ts";
import { breaks } from "./fault.ts";
import { impatiently } from "./impatience.ts";
import { jobRow, row } from "./row.ts";
import { countsOf } from "./stores.ts";

/** The first call; later ones succeed. */
const once = (breakage: Breakage) => (n: number) => (n === 1 ? breakage : null);

const tokens = async (): Promise<{ id: string; name: string }[]> =>
  (await call<{ id: string; name: string }[]>("GET", "/tokens")).body.result;

/** A row for each kind of breakage. */
type Rows = (breakage: Breakage) => void;

describe("a register that does not say who calls", () => {
  const seen: Rows = (breakage) =>
    jobRow(`the access register: ${breakage}; a sender that was seen goes on sending`, async (world, job) => {
      const { secret } = await token(["events:write"]);
      await world.take(world.mint(5), 5, { token: secret });
      const stuck = breaks(world, AccessRegister, "identify", breakage);
      world.clock.advance(SENDER_MEMORY_MS);
      expect(await impatiently(stuck, () => world.post(world.mint(5), { token: secret }))).toBe(202);
      // The sender memory has expired.
      world.clock.advance(1);
      expect(await impatiently(stuck, () => world.post(world.mint(5), { token: secret }))).toBe(503);
      await world.mend();
      await world.take(world.mint(5), 5, { token: secret });
      await world.settle();
      expect((await countsOf(job)).delivered).toBe(15);
    });

  const guessed: Rows = (breakage) =>
    row(`the access register: ${breakage}; nobody is let by on a guess`, async (world) => {
      await world.createJob();
      const unseen = (await token(["events:write"])).secret;
      const everything = (await token(["events:write", "logs:read"])).secret;
      await world.take(world.mint(1), 1, { token: everything });
      // The isolate that serves the API has seen this token as well.
      const headers = bearer(everything);
      expect((await call("GET", "/logship/jobs", undefined, { headers })).status).toBe(200);
      const stuck = breaks(world, AccessRegister, "identify", breakage);
      expect(await impatiently(stuck, () => world.post(world.mint(1), { token: unseen }))).toBe(503);
      const guess = `logship_token_${"A".repeat(43)}`;
      expect(await impatiently(stuck, () => world.post(world.mint(1), { token: guess }))).toBe(503);
      const reading = await impatiently(stuck, () => call("GET", "/logship/jobs", undefined, { headers }));
      expect([reading.status, reading.headers.get("www-authenticate")]).toEqual([503, null]);
      // Admin credentials, and requests without credentials, are judged without the register.
      await world.take(world.mint(1));
      expect((await call("GET", "/logship/jobs", undefined, { headers: { authorization: null } })).status).toBe(401);
    });

  for (const [rows, breakage] of cells([seen, guessed], BREAKAGES)) rows(breakage);

  row("the access register is out of reach: refused; a token that was revoked before", async (world) => {
    await world.createJob();
    const { id, secret } = await token(["events:write"]);
    await world.take(world.mint(5), 5, { token: secret });
    await call("DELETE", `/tokens/${id}`);
    // This isolate learns of the revocation with its next request.
    expect(await world.post(world.mint(5), { token: secret })).toBe(401);
    const stuck = breaks(world, AccessRegister, "identify", "refused");
    expect(await impatiently(stuck, () => world.post(world.mint(5), { token: secret }))).toBe(503);
  });
});

describe("a register whose shards are asked", () => {
  /** A token whose isolates have been sent to the shards, and each shard has a copy. */
  async function spread(world: World): Promise<{ id: string; secret: string; headers: Headers }> {
    const ci = await token(["events:write", "logs:read"]);
    const register = accessRegister(env.ACCESS);
    await runInDurableObject(register, (instance) => {
      for (let n = 0; n < ACCESS_SPREAD_AT; n++) instance.identify({ kind: "token", hash: new Uint8Array(32) });
    });
    const proof: Proof = { kind: "token", hash: hashOf(ci.secret) };
    for (let n = 0; n < ACCESS_SHARDS; n++) await accessShard(env.ACCESS, n).identifyHere(proof);
    await world.take(world.mint(1), 1, { token: ci.secret });
    expect((await call("GET", "/logship/jobs", undefined, { headers: ci.headers })).status).toBe(200);
    return ci;
  }

  const asking: Rows = (breakage) =>
    row(`a shard of the access register: ${breakage}; the register decides`, async (world) => {
      await world.createJob();
      const { id, secret, headers } = await spread(world);
      const stuck = breaks(world, AccessRegister, "identifyHere", breakage);
      const reading = () => call("GET", "/logship/jobs", undefined, { headers });
      expect((await impatiently(stuck, reading)).status).toBe(200);
      expect(await impatiently(stuck, () => world.post(world.mint(1), { token: secret }))).toBe(202);
      expect((await call("DELETE", `/tokens/${id}`)).status).toBe(200);
      expect((await impatiently(stuck, reading)).status).toBe(401);
    });

  const dropping: Rows = (breakage) =>
    row(`a shard that must drop its copy: ${breakage}; nothing is revoked, or all of it`, async (world) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      await world.createJob();
      const { id, secret, headers } = await spread(world);
      const stuck = breaks(world, AccessRegister, "dropCopy", (n) => (n === 5 ? breakage : null));
      const first = await impatiently(stuck, () => call("DELETE", `/tokens/${id}`));
      expect(first.status).toBe(503);
      for (let n = 0; n < ACCESS_SHARDS; n++) {
        expect((await call("GET", "/logship/jobs", undefined, { headers })).status).toBe(200);
        await world.take(world.mint(1), 1, { token: secret });
      }
      expect((await call("DELETE", `/tokens/${id}`)).status).toBe(200);
      for (let n = 0; n < ACCESS_SHARDS; n++) {
        expect((await call("GET", "/logship/jobs", undefined, { headers })).status).toBe(401);
        expect(await world.post(world.mint(1), { token: secret })).toBe(401);
      }
    });

  for (const breakage of BREAKAGES) asking(breakage);
  // The deadline of a shard that hangs is the register's own, which no test can fire from outside.
  for (const breakage of PROMPT_BREAKAGES) dropping(breakage);

  row("the access register: out of reach; its shards go on for a minute", async (world) => {
    await world.createJob();
    const { headers } = await spread(world);
    const stuck = breaks(world, AccessRegister, "identify", "refused");
    breaks(world, AccessRegister, "copy", "refused");
    const reading = async () => (await call("GET", "/logship/jobs", undefined, { headers })).status;
    expect(await reading()).toBe(200);
    world.clock.advance(ACCESS_COPY_MS);
    expect(await impatiently(stuck, reading)).toBe(503);
    await world.mend();
    expect(await reading()).toBe(200);
  });
});

describe("a register that breaks in the middle of a change", () => {
  const creating: Rows = (breakage) =>
    row(`creating a token: ${breakage}; it is repeated, and no secret is out that opens anything`, async (world) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const stuck = breaks(world, AccessRegister, "addToken", once(breakage));
      const create = () =>
        call<{ id: string; value: string } | null>("POST", "/tokens", { name: "ci", permissions: ["events:write"] });
      const first = await impatiently(stuck, create);
      expect([first.status, first.body.result]).toEqual([503, null]);
      const again = await create();
      expect(again.status).toBe(201);
      // A token created without an answer is listed and can be deleted.
      for (const { id } of (await tokens()).filter((each) => each.id !== again.body.result?.id))
        expect((await call("DELETE", `/tokens/${id}`)).status).toBe(200);
      expect((await tokens()).map(({ id }) => id)).toEqual([again.body.result?.id]);
      await world.createJob();
      await world.take(world.mint(5), 5, { token: again.body.result?.value ?? "" });
    });

  const revoking: Rows = (breakage) =>
    row(`revoking a token: ${breakage}; it is repeated until it is gone`, async (world) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const { id, secret } = await token(["events:write"]);
      const stuck = breaks(world, AccessRegister, "removeToken", once(breakage));
      expect((await impatiently(stuck, () => call("DELETE", `/tokens/${id}`))).status).toBe(503);
      expect([200, 404]).toContain((await call("DELETE", `/tokens/${id}`)).status);
      expect(await world.post(world.mint(1), { token: secret })).toBe(401);
    });

  const noting: Rows = (breakage) =>
    row(`noting a change in the audit: ${breakage}; the change stands`, async (world) => {
      const logged = vi.spyOn(console, "error").mockImplementation(() => {});
      const stuck = breaks(world, AccessRegister, "note", breakage);
      await impatiently(stuck, async () => expect((await call("DELETE", "/members/1")).status).toBe(404));
      const body = { logship: true };
      const answer = await impatiently(stuck, () => call("PATCH", "/functions/scripts/shop/script-settings", body));
      expect(answer.status).toBe(200);
      expect(JSON.stringify(logged.mock.calls)).toContain("a change is missing in the audit");
    });

  for (const [rows, breakage] of cells([creating, revoking, noting], BREAKAGES)) rows(breakage);
});
