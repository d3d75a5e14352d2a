import { describe, expect, it, vi } from "vitest";
import { TraceLog } from "../../../src/index.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf, expectRefused, freshBucket, type Settings, send } from "./harness.ts";

const SCRIPTS = "/functions/scripts";
const AT_NOON = new Date(NOON).toISOString();

const settingsOf = (name: string): string => `${SCRIPTS}/${encodeURIComponent(name)}/script-settings`;

const patch = (name: string, body: unknown, base = SCRIPTS) =>
  call<Settings>("PATCH", `${base}/${encodeURIComponent(name)}/script-settings`, body);

const list = async (query = "", base = SCRIPTS): Promise<Settings[]> =>
  (await call<Settings[]>("GET", base + query)).body.result;

/**
 * Sends events of a function through the queue and counts them. @param at time of the first one,
 * and of their intake.
 */
async function ship(scriptName: string, events: number, at = NOON): Promise<void> {
  const minted = new Oracle({ at, name: `${scriptName}-${at}` }).mint(events, { scriptName });
  const { acked } = await deliver(pack(minted, at));
  if (acked.length !== 1) throw new Error("the message was not acknowledged");
}

const NEVER = { last_event: null, shipped: 0, dropped: { logging_off: 0, no_job: 0 }, sources: [] };
const NO_SUCH = [404, [[7003, undefined, "no such function"]]];

it("a list is of those whose names contain what is asked for, in capitals or not, and comes in pages", async () => {
  setClock(NOON);
  for (const name of ["Shop", "shop-2", "till", "a%b"]) await patch(name, { logship: true });
  const namesOf = async (query: string) => (await list(query)).map(({ id }) => id);
  expect(await namesOf("?name=SHO")).toEqual(["Shop", "shop-2"]);
  expect(await namesOf("?name=sho&per_page=1&page=2")).toEqual(["shop-2"]);
  expect(await namesOf("?name=%25")).toEqual(["a%b"]);
  expect(await namesOf("?name=")).toHaveLength(4);
  expect(await namesOf("?name=none")).toEqual([]);
});

describe("script settings", () => {
  const echoed: [what: string, body: Settings, answer: Settings][] = [
    ["on", { logship: true }, { logship: true, tail_consumers: null }],
    ["off", { logship: false }, { logship: false, tail_consumers: null }],
    ["by the vendor's name of it", { logpush: true }, { logpush: true, tail_consumers: null }],
    ["off by the vendor's name of it", { logpush: false }, { logpush: false, tail_consumers: null }],
    [
      "with tail consumers",
      { logship: true, tail_consumers: [{ service: "logship" }, { service: "b", environment: "e", namespace: "n" }] },
      {
        logship: true,
        tail_consumers: [{ service: "logship" }, { service: "b", environment: "e", namespace: "n" }],
      },
    ],
    ["tail consumers alone", { tail_consumers: [] }, { logship: null, tail_consumers: [] }],
  ];

  it.each(echoed)("are echoed as they were sent, and read again: %s", async (_what, body, expected) => {
    setClock(NOON);
    const answer = await patch("shop", body);
    expect([answer.status, answer.body.result]).toEqual([200, expected]);
    const { logship = body.logpush ?? null, tail_consumers } = expected;
    expect((await call("GET", settingsOf("shop"))).body.result).toEqual({ logship, tail_consumers });
    const theirs = await call("GET", "/workers/scripts/shop/script-settings");
    expect(theirs.body.result).toEqual({ logpush: logship, tail_consumers });
  });

  it("have the property's name of the path where the body names none, and that of the body where it does", async () => {
    setClock(NOON);
    expect((await patch("shop", {}, "/workers/scripts")).body.result).toEqual({ logpush: null, tail_consumers: null });
    expect((await patch("shop", {})).body.result).toEqual({ logship: null, tail_consumers: null });
    const ours = await patch("shop", { logship: true }, "/workers/scripts");
    expect(ours.body.result).toEqual({ logship: true, tail_consumers: null });
    expect((await patch("shop", { logpush: null })).body.result).toEqual({ logpush: null, tail_consumers: null });
  });

  it("keep what a change does not name, and null clears", async () => {
    const clock = setClock(NOON);
    const [a, b] = [[{ service: "a" }], [{ service: "b" }]];
    await patch("shop", { logship: false, tail_consumers: a });
    clock.advance(60_000);
    for (const [change, logship, tail_consumers] of [
      [{ tail_consumers: b }, false, b],
      [{ logship: null }, null, b],
      [{ tail_consumers: null }, null, null],
    ] as const)
      expect((await patch("shop", change)).body.result).toEqual({ logship, tail_consumers });
    expect(errorsOf(await call("GET", settingsOf("shop")))).toEqual(NO_SUCH[1]);
  });

  it("keep what only the platform follows, key by key, and show it from then on", async () => {
    const observability = { enabled: true, head_sampling_rate: 0.5, logs: { invocation_logs: false } };
    let shown: object = { logship: null, tail_consumers: null };
    for (const change of [
      { observability },
      { tags: ["a", "b"] },
      { logship: true },
      { observability: null, tags: [] },
    ]) {
      shown = { ...shown, ...change };
      expect((await patch("shop", change)).body.result).toEqual(shown);
      expect((await call("GET", settingsOf("shop"))).body.result).toEqual(shown);
    }
    await call("DELETE", "/functions/scripts/shop");
    expect(errorsOf(await call("GET", settingsOf("shop")))).toEqual(NO_SUCH[1]);
  });

  const faults: [what: string, body: unknown, expected: [pointer: string, message: RegExp][]][] = [
    ["no boolean", { logship: "true" }, [["/logship", /logship: .*boolean/]]],
    ["both names", { logship: true, logpush: true }, [["/logpush", /another name of logship; send only one of them/]]],
    ["an unknown key", { placement: {} }, [["/placement", /unknown key "placement"/]]],
    ["an array", [], [["", /object/]]],
    ["a consumer without a service", { tail_consumers: [{}] }, [["/tail_consumers/0/service", /is missing/]]],
    ["an empty service", { tail_consumers: [{ service: "" }] }, [["/tail_consumers/0/service", /1 character/]]],
    ["tags that are a text", { tags: "a" }, [["/tags", /array/]]],
    ["observability that is a switch", { observability: true }, [["/observability", /object|record/]]],
    [
      "more of the platform's than is kept",
      { tags: Array(5).fill("t".repeat(1_000)), observability: { x: "x".repeat(4_096) } },
      [
        ["/observability", /4096 bytes/],
        ["/tags", /4096 bytes/],
      ],
    ],
    [
      "a hundred and one consumers",
      { tail_consumers: Array.from({ length: 101 }, () => ({ service: "s" })) },
      [["/tail_consumers", /100/]],
    ],
    [
      "more text than a list of all functions could carry",
      { tail_consumers: Array.from({ length: 80 }, () => ({ service: "s".repeat(250) })) },
      [["/tail_consumers", /16384 bytes/]],
    ],
    [
      "everything at once",
      { logship: 1, logpush: 2, tail_consumers: [{ service: 3, more: 4 }], x: 5 },
      [
        ["/logpush", /boolean/],
        ["/logpush", /another name/],
        ["/logship", /boolean/],
        ["/tail_consumers/0/more", /unknown key/],
        ["/tail_consumers/0/service", /string/],
        ["/x", /unknown key/],
      ],
    ],
  ];

  it.each(faults)(
    "are refused with every fault at its place, and nothing is stored: %s",
    async (_what, body, expected) => {
      const answer = await patch("shop", body);
      const errors = errorsOf(answer).sort(([, a = "", x], [, b = "", y]) => (a + x < b + y ? -1 : 1));
      expect(answer.status).toBe(400);
      expect(errors).toEqual(expected.map(([pointer, message]) => [1001, pointer, expect.stringMatching(message)]));
      expect(await list()).toEqual([]);
    },
  );

  it("are refused if they are no JSON, or of another media type", async () => {
    expect([(await patch("shop", "{")).status, (await patch("shop", "")).status]).toEqual([400, 400]);
    for (const type of ["multipart/form-data; boundary=x", "text/plain"]) {
      const answer = await call("PATCH", settingsOf("shop"), "{}", { headers: { "content-type": type } });
      expect([answer.status, answer.body.errors[0]?.code]).toEqual([415, 1015]);
    }
  });
});

describe("the name of a function", () => {
  const names: [what: string, name: string][] = [
    ["plain", "shop"],
    ["255 characters", "n".repeat(255)],
    ["with dots, dashes and more", "a.b-c_d~e!f*g'(h)"],
    ["with a blank", "my shop"],
    ["that looks encoded already", "a%2Fb%20c"],
    ["with what means something in an address", "a?b#c&d=e+f;g:h@i"],
    ["of any letters", "l\u00e4den-\u20ac-\u{1f600}"],
    ["of an object's members", "__proto__"],
    ["with quotes", `"'<script>\\`],
  ];

  it.each(names)("can be any that a path can carry, and comes back as it is: %s", async (_what, name) => {
    setClock(NOON);
    expect((await patch(name, { logship: true })).status).toBe(200);
    const one = await call<Settings>("GET", `${SCRIPTS}/${encodeURIComponent(name)}`);
    expect([one.status, one.body.result.id]).toEqual([200, name]);
    expect((await list()).map(({ id }) => id)).toEqual([name]);
    expect((await call("DELETE", `${SCRIPTS}/${encodeURIComponent(name)}`)).body.result).toEqual({ id: name });
    expect(await list()).toEqual([]);
  });

  it.each([
    ["256 characters", "n".repeat(256)],
    ["a slash", "a%2Fb"],
    ["a zero byte", "a%00"],
    ["a line end", "a%0Ab"],
    ["a control character beyond ASCII", "a%C2%85"],
    ["no UTF-8", "a%FF"],
    ["half a percent-encoding", "a%2"],
  ])("is refused if it is none: %s", async (_what, segment) => {
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["DELETE", "", undefined],
      ["GET", "/script-settings", undefined],
      ["PATCH", "/script-settings", { logship: true }],
    ] as const) {
      const answer = await send(
        `http://logship.test/client/v4/accounts/test-account${SCRIPTS}/${segment}${path}`,
        body === undefined ? { method } : { method, body },
      );
      expectRefused(answer, 400, [
        1001,
        undefined,
        expect.stringMatching(/^script_name must have 1 to 255 characters/),
      ]);
    }
    expect(await list()).toEqual([]);
  });

  it("is told apart from others by case, and from nothing else", async () => {
    setClock(NOON);
    await patch("Shop", { logship: true });
    expect((await call("GET", `${SCRIPTS}/shop`)).status).toBe(404);
    expect((await call("GET", `${SCRIPTS}/%53hop`)).status).toBe(200);
  });
});

describe("functions", () => {
  it("are those that were set and those that were seen, by name, with what became of their events", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    await ship("shop", 3, NOON - 60_000);
    await ship("shop", 5);
    await ship("billing", 2);
    await patch("shop", { logship: false });
    await patch("Zoo", { logship: true, tail_consumers: [{ service: "logship" }] });
    clock.advance(60_000);
    await ship("shop", 4, clock.nowMs());
    const unset = {
      logging: "unset",
      logship: null,
      tail_consumers: null,
      ...NEVER,
      modified_on: null,
      attachment: null,
    };
    const consumers = { tail_consumers: [{ service: "logship" }], modified_on: new Date(NOON + 500).toISOString() };
    const last_event = new Date(clock.nowMs()).toISOString();
    const expected = [
      { id: "Zoo", ...unset, logging: "on", logship: true, ...consumers },
      { id: "billing", ...unset, last_event: AT_NOON, shipped: 2 },
      {
        ...{ id: "shop", ...unset, logging: "off", logship: false, modified_on: AT_NOON },
        ...{ last_event, shipped: 5, dropped: { logging_off: 4, no_job: 3 } },
      },
    ];
    expect(await list()).toEqual(expected);
    const neverSet = (await call("GET", settingsOf("billing"))).body.result;
    expect(neverSet).toEqual({ logship: null, tail_consumers: null });
    for (const each of expected) expect((await call("GET", `${SCRIPTS}/${each.id}`)).body.result).toEqual(each);
    const theirs = expected.map(({ logship, ...each }) => ({ ...each, logpush: logship }));
    expect(await list("", "/workers/scripts")).toEqual(theirs);
    expect((await call("GET", "/workers/scripts/shop")).body.result).toEqual(theirs[2]);
  });

  it("add up to the account's own counts, with those that have no names of their own", async () => {
    setClock(NOON);
    await createJob(freshBucket().name);
    await ship("shop", 3);
    await ship("n".repeat(256), 4);
    await ship("billing", 2, NOON - 60_000);
    const answer = await call<Settings[]>("GET", SCRIPTS);
    expect(answer.body.result.map(({ id, shipped }) => [id, shipped])).toEqual([
      ["billing", 0],
      ["shop", 3],
    ]);
    expect(answer.body.result_info).toEqual({
      count: 2,
      page: 1,
      per_page: 1_000,
      total_count: 2,
      unlisted: { shipped: 4, dropped: { logging_off: 0, no_job: 0 } },
    });
    const { result } = (await call<Settings>("GET", "/logship/ledger")).body;
    expect(result).toMatchObject({ processed: 9, routed: 7, not_enabled: 0, not_routed: 2 });
  });

  it("that nobody has heard of are 404, and can be set all the same, before their first event", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    for (const [method, path] of [
      ["GET", `${SCRIPTS}/shop`],
      ["DELETE", `${SCRIPTS}/shop`],
      ["GET", settingsOf("shop")],
    ] as const) {
      const answer = await call(method, path);
      expect([answer.status, errorsOf(answer)]).toEqual(NO_SUCH);
    }
    expect((await patch("shop", { logship: false })).status).toBe(200);
    clock.advance(60_000);
    await ship("shop", 5, clock.nowMs());
    expect((await call<Settings>("GET", `${SCRIPTS}/shop`)).body.result).toMatchObject({
      shipped: 0,
      dropped: { logging_off: 5, no_job: 0 },
    });
    expect((await call("GET", `/logship/jobs/${job}/ledger`)).body.result).toMatchObject({ received: 0 });
  });
});

describe("a function that is deleted", () => {
  it("is forgotten with its setting and counts, and what it sends afterwards ships and is counted anew", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    await ship("shop", 3);
    await patch("shop", { logship: false, tail_consumers: [{ service: "logship" }] });
    clock.advance(60_000);
    await ship("shop", 2, clock.nowMs());
    const before = clock.nowMs();
    expect((await call("DELETE", `${SCRIPTS}/shop`)).body.result).toEqual({ id: "shop" });
    // An opt-out ends like any other.
    expect(clock.nowMs()).toBe(before + 500);
    const answer = await call("DELETE", `${SCRIPTS}/shop`);
    expect([answer.status, errorsOf(answer)]).toEqual(NO_SUCH);
    expect(await list()).toEqual([]);
    // Taken in while logging was off, and late.
    await ship("shop", 1, before - 1);
    clock.advance(1_000);
    await ship("shop", 4, clock.nowMs());
    expect(await list()).toMatchObject([
      { id: "shop", logging: "unset", shipped: 4, dropped: { logging_off: 1, no_job: 0 } },
    ]);
    expect((await call("GET", `/logship/jobs/${job}/ledger`)).body.result).toMatchObject({ received: 7 });
    const counts = (await call("GET", "/logship/ledger")).body.result;
    expect(counts).toMatchObject({ routed: 7, not_enabled: 3 });
  });

  it("can be deleted again when its counts could not be forgotten", async () => {
    setClock(NOON);
    await ship("shop", 3);
    await patch("shop", { logship: true });
    vi.spyOn(TraceLog.prototype, "forgetFunction").mockImplementationOnce(() => {
      throw new Error("out of reach");
    });
    expect((await call("DELETE", `${SCRIPTS}/shop`)).status).toBe(503);
    expect((await call("DELETE", `${SCRIPTS}/shop`)).status).toBe(200);
    expect(await list()).toEqual([]);
  });

  it("can be repeated while it is not in force everywhere, though nothing is known of the function any more", async () => {
    setClock(NOON);
    await createJob(freshBucket().name);
    await patch("shop", { logship: false });
    const unreached = vi.spyOn(TraceLog.prototype, "configure").mockRejectedValue(new Error("out of reach"));
    for (const _ of [1, 2]) expect((await call("DELETE", `${SCRIPTS}/shop`)).status).toBe(503);
    expect((await call("GET", `${SCRIPTS}/shop`)).status).toBe(404);
    unreached.mockRestore();
    expect((await call("DELETE", `${SCRIPTS}/shop`)).body.result).toEqual({ id: "shop" });
    const answer = await call("DELETE", `${SCRIPTS}/shop`);
    expect([answer.status, errorsOf(answer)]).toEqual(NO_SUCH);
  });

  it("changes nothing where the ledger cannot say whether there is anything to delete", async () => {
    setClock(NOON);
    await patch("shop", { logship: true });
    vi.spyOn(TraceLog.prototype, "functionCount").mockImplementationOnce(() => {
      throw new Error("out of reach");
    });
    expect((await call("DELETE", `${SCRIPTS}/shop`)).status).toBe(503);
    expect((await call<Settings>("GET", settingsOf("shop"))).body.result).toMatchObject({ logship: true });
  });
});

describe("the settings of a function", () => {
  it("are read without its counts, of which there may be a month's", async () => {
    setClock(NOON);
    await patch("shop", { logship: true });
    const counted = [vi.spyOn(TraceLog.prototype, "functions"), vi.spyOn(TraceLog.prototype, "functionCount")];
    expect((await call("GET", settingsOf("shop"))).status).toBe(200);
    expect(counted.map((spy) => spy.mock.calls.length)).toEqual([0, 0]);
    expect((await call("GET", `${SCRIPTS}/shop`)).status).toBe(200);
    expect(counted.map((spy) => spy.mock.calls.length)).toEqual([0, 1]);
  });
});
