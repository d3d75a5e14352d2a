/** What every request leaves behind: an id in its answer, and one log line. */
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { AccessRegister } from "../../../src/state/access/register.ts";
import { ControlPlane } from "../../../src/state/control/plane.ts";
import { NOON } from "../../formats/record/samples.ts";
import { ACCOUNT } from "../../support/constants.ts";
import type { Answer } from "../../support/runtime/api.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { type CallOptions, call, send } from "./harness.ts";
import { member, token } from "./principals.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const BASE = "/client/v4/accounts/:account_id";

type Line = Record<string, unknown>;

let infos: MockInstance;
let errors: MockInstance;
beforeEach(() => {
  infos = vi.spyOn(console, "info").mockImplementation(() => {});
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

const requestLines = (): Line[] =>
  infos.mock.calls.map(([line]) => line as Line).filter(({ message }) => message === "request");

/** The one log line of a request, and its answer. */
async function lineOf(asked: () => Promise<Answer>): Promise<{ line: Line; answer: Answer }> {
  infos.mockClear();
  const answer = await asked();
  const [line, ...more] = requestLines();
  if (line === undefined || more.length > 0) throw new Error(`${more.length} lines too many`);
  expect(line.request_id).toBe(answer.headers.get("x-request-id"));
  expect(line.request_id).toMatch(UUID);
  expect(line.status).toBe(answer.status);
  return { line, answer };
}

const admin = { kind: "admin", id: "admin" };

describe("the line of a request", () => {
  it("says what was asked, of whom it came, what became of it, and how long it took", async () => {
    setClock(NOON);
    const { line } = await lineOf(() => call("GET", "/logship/jobs"));
    expect(line).toEqual({
      message: "request",
      request_id: expect.any(String),
      method: "GET",
      route: `${BASE}/logship/jobs`,
      status: 200,
      ms: 0,
      caller: admin,
      errors: [],
    });
  });

  const JOBS = "/logship/jobs";
  const tellings: [what: string, asked: string, expected: Line, body?: unknown, options?: CallOptions][] = [
    [
      "a job that is not there",
      "GET /logpush/jobs/7",
      { route: `${BASE}/logpush/jobs/:job_id`, status: 404, errors: [1000] },
    ],
    ["no route", "GET /logship/nothing/of-that/name", { route: null, status: 404, errors: [7003], caller: null }],
    ["no such method", `DELETE ${JOBS}`, { route: BASE + JOBS, status: 405, errors: [7001] }],
    [
      "another account",
      `GET ${JOBS}`,
      { route: BASE + JOBS, status: 404, errors: [7003] },
      undefined,
      { account: "another" },
    ],
    ["several faults of one kind", "POST /tokens", { status: 400, errors: [1001] }, { name: 7, permissions: 7 }],
    [
      "nobody",
      `GET ${JOBS}`,
      { status: 401, errors: [10000], caller: null },
      undefined,
      { headers: { authorization: null } },
    ],
    ["a function by its name", "GET /functions/scripts/my-shop", { route: `${BASE}/functions/scripts/:script_name` }],
    ["no configuration", `GET ${JOBS}`, { status: 503, errors: [1053] }, undefined, { settings: { SECRETS_KEY: "x" } }],
  ];
  it.each(tellings)("tells of %s", async (_what, asked, expected, body, options) => {
    const [method = "", path = ""] = asked.split(" ");
    const { line } = await lineOf(() => call(method, path, body, options));
    expect(line).toMatchObject({ caller: admin, ...expected });
    expect(JSON.stringify(line)).not.toContain("my-shop");
  });

  it("names a token or a member by its id, and by nothing else, whether he may or not", async () => {
    const ci = await token(["logs:read"], { name: "the CI of Ada" });
    const ada = await member("Log Share Reader", "ada@example.com");
    for (const [kind, { id, headers }] of [
      ["token", ci],
      ["member", ada],
    ] as const) {
      for (const [method, status] of [
        ["GET", 200],
        ["POST", 403],
      ] as const) {
        const { line, answer } = await lineOf(() =>
          call(method, "/logship/jobs", method === "GET" ? undefined : {}, { headers }),
        );
        expect([answer.status, line.caller]).toEqual([status, { kind, id }]);
      }
    }
    expect(JSON.stringify(infos.mock.calls)).not.toMatch(/Ada|ada@/);
  });

  it("counts the time on the clock of the world", async () => {
    const clock = setClock(NOON);
    vi.spyOn(ControlPlane.prototype, "list").mockImplementation(() => {
      clock.advance(1_234);
      return [];
    });
    expect((await lineOf(() => call("GET", "/logship/jobs"))).line.ms).toBe(1_234);
  });

  it("has the platform's own number, if it is one", async () => {
    const ray = (value: string) =>
      lineOf(() => call("GET", "/logship/jobs", undefined, { headers: { "cf-ray": value } }));
    expect((await ray("8f3a5c1d2e4b6a70-FRA")).line.ray_id).toBe("8f3a5c1d2e4b6a70-FRA");
    expect((await ray("8f3a5c1d2e4b6a70")).line.ray_id).toBe("8f3a5c1d2e4b6a70");
    for (const other of ["x", "8f3a5c1d2e4b6a70-fra1", "Bearer abc", "8f3a5c1d2e4b6a70-FRA, x", "8".repeat(400)])
      expect(Object.keys((await ray(other)).line)).not.toContain("ray_id");
  });
});

describe("the number of a request", () => {
  it("is ours, whatever a caller sends, and another one each time", async () => {
    const mine = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed";
    const numbers = new Set<unknown>();
    for (let n = 0; n < 5; n++) {
      const { line } = await lineOf(() =>
        call("GET", "/logship/jobs", undefined, { headers: { "x-request-id": mine } }),
      );
      numbers.add(line.request_id);
    }
    expect([numbers.size, numbers.has(mine)]).toEqual([5, false]);
  });

  it("stands outside of the API, too", async () => {
    for (const path of ["/nothing", "/jobs/1/nothing", "/client/v4", `/client/v4/accounts/${ACCOUNT}`]) {
      const { line } = await lineOf(() => send(`http://logship.test${path}`, { method: "GET" }));
      expect(line).toMatchObject({ status: 404, route: null, errors: [7003] });
    }
  });

  it("stands in every line that is written on the way, and in no other's", async () => {
    vi.spyOn(AccessRegister.prototype, "note").mockImplementation(() => {
      throw new Error("the disk is full");
    });
    const sent = ["a", "b", "c"].map((name) => call("POST", "/tokens", { name, permissions: ["logs:read"] }));
    const answers = await Promise.all(sent);
    const noted = errors.mock.calls.map(([line]) => line as Line).filter(({ kind }) => kind === "admin");
    expect(noted.map(({ request_id }) => request_id).sort()).toEqual(
      answers.map(({ headers }) => headers.get("x-request-id")).sort(),
    );
  });

  it("finds the line of what went wrong", async () => {
    vi.spyOn(ControlPlane.prototype, "list").mockImplementation(() => {
      throw new Error("cannot read s3://bucket/x?secret-access-key=abc");
    });
    const { answer, line } = await lineOf(() => call("GET", "/logship/jobs"));
    expect(line).toMatchObject({ status: 503, errors: [1053], caller: admin });
    expect(errors.mock.calls).toEqual([
      [
        {
          message: "request failed",
          request_id: answer.headers.get("x-request-id"),
          method: "GET",
          route: `${BASE}/logship/jobs`,
          error: "Error: cannot read s3://bucket/****",
        },
      ],
    ]);
  });
});
