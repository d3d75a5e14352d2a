/** What clients ask about themselves before they do anything else. */
import { describe, expect, it } from "vitest";
import { ACCOUNT } from "../../support/constants.ts";
import { call, errorsOf, expectRefused, send } from "./harness.ts";
import { bearer, type Headers, member, token } from "./principals.ts";

const ask = (path: string, headers?: Headers) =>
  send<unknown>(`http://logship.test/client/v4${path}`, { method: "GET", body: undefined }, { headers });
const resultOf = async (path: string, headers?: Headers) => {
  const { status, body } = await ask(path, headers);
  return [status, body.result, body.messages];
};

const PATHS = ["/user", "/user/tokens/verify", "/accounts", "/memberships", `/accounts/${ACCOUNT}/tokens/verify`];
const ACTIVE = [{ code: 10000, message: "This API Token is valid and active" }];

describe("credentials that are known", () => {
  it("are told that they are, and whose they are", async () => {
    const { id, headers } = await token(["events:write"]);
    const ada = await member("Log Share Reader");
    for (const path of ["/user/tokens/verify", `/accounts/${ACCOUNT}/tokens/verify`]) {
      expect(await resultOf(path)).toEqual([200, { id: "admin", status: "active" }, ACTIVE]);
      expect(await resultOf(path, headers)).toEqual([200, { id, status: "active" }, ACTIVE]);
      expect(await resultOf(path, ada.headers)).toEqual([200, { id: ada.id, status: "active" }, ACTIVE]);
    }
    expect(await resultOf("/user", headers)).toEqual([200, { id, email: null }, []]);
    expect(await resultOf("/user", ada.headers)).toEqual([200, { id: ada.id, email: expect.stringMatching(/@/) }, []]);
    const account = { id: ACCOUNT, name: ACCOUNT };
    expect(await resultOf("/accounts", headers)).toEqual([200, [account], []]);
    expect(await resultOf("/memberships", headers)).toEqual([200, [{ id, status: "accepted", account }], []]);
  });

  it.each(["/accounts", "/memberships"])("find one account, and no other on the next page: %s", async (path) => {
    const { body } = await ask(`${path}?page=2`);
    expect([body.result, body.result_info]).toEqual([[], { count: 0, page: 2, per_page: 1_000, total_count: 1 }]);
  });

  it("are not, once they are deleted", async () => {
    const { id, headers } = await token(["events:write"]);
    await call("DELETE", `/tokens/${id}`);
    for (const path of PATHS) expect([path, (await ask(path, headers)).status]).toEqual([path, 401]);
  });
});

it.each(PATHS)("unknown credentials are told nothing: %s", async (path) => {
  for (const headers of [{ authorization: null }, bearer(`logship_token_${"A".repeat(43)}`), bearer("x".repeat(40))]) {
    const answer = await ask(path, headers);
    expect([answer.status, errorsOf(answer)[0]?.[0]]).toEqual([401, 10000]);
  }
});

it("another account has no tokens to check, and a check is no id of a token", async () => {
  const answer = await call("GET", "/tokens/verify", undefined, { account: "another" });
  expectRefused(answer, 404, [7003, undefined, "no such account"]);
  expect((await call("DELETE", "/tokens/verify")).status).toBe(405);
});
