/** A store keeps half of an object, discards it, holds a different one, or does not tell. */
import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { describe, expect, inject } from "vitest";
import { ACCESS_KEY, SECRET_KEY } from "../support/constants.ts";
import { cells, variants } from "../support/matrix.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import { type Action, type Match, type Rule, rule } from "../support/s3-script.ts";
import { type Kinds, OVER_HTTP, row, STORES, storeRow, TELLS } from "./row.ts";
import {
  arrive,
  attempts,
  controlOf,
  countsOf,
  failingJob,
  HEADS,
  PUTS,
  pass,
  said,
  type Waiting,
  waitingJob,
  written,
} from "./stores.ts";

const HOUR_MS = 3_600_000;

/** Settles; expects one delivered object of ten records with this number, and no error. */
async function endsWell(world: World, { job }: Waiting, { number = 1, verified = true } = {}): Promise<void> {
  await world.settle();
  expect(await said(job)).toBeNull();
  expect(await jobObjects(job.id)).toMatchObject([{ number, state: "delivered", verified, records: 10 }]);
}

describe("a store that does not keep what it was sent", () => {
  const half: Action = { do: "truncate" };
  /** `delivered`: at the first attempt. */
  const kept: readonly (readonly [fault: string, kinds: Kinds, delivered: number, rules: readonly Rule[]])[] = [
    ["keeps half of an object, once: it is written over", TELLS, 10, [rule(half, PUTS, 1)]],
    [
      "keeps half of an object, and its answer is lost",
      TELLS,
      0,
      // HEAD fails, so the result is unknown; then the connection breaks.
      [
        rule(half, PUTS, 1),
        rule({ do: "reset", when: "before" }, HEADS, 1),
        rule({ do: "reset", when: "before" }, PUTS, 2),
      ],
    ],
    [
      "says 200 and keeps nothing, and will not be asked for a while",
      STORES,
      0,
      [rule({ do: "discard" }, PUTS, 6), rule({ do: "answer", status: 503 }, HEADS, 3)],
    ],
  ];
  for (const [fault, kinds, delivered, rules] of kept) {
    storeRow(`the store ${fault}`, kinds, async (world) => {
      const waiting = await failingJob(world, rules);
      await pass(world);
      expect(await countsOf(waiting.job)).toMatchObject({ delivered, pending: 10 - delivered });
      await endsWell(world, waiting);
    });
  }

  storeRow("the store keeps half of every object, for a day", STORES, async (world) => {
    const waiting = await failingJob(world, rule(half, PUTS));
    for (let hours = 0; hours < 24; hours += 3) {
      await pass(world, 3 * HOUR_MS);
      expect(await said(waiting.job)).toMatch(/the store keeps \d+ of \d+ bytes; logship is retrying/);
      expect(await countsOf(waiting.job)).toMatchObject({ delivered: 0, pending: 10 });
    }
    // At most two PUTs per attempt.
    expect(await attempts(waiting.control)).toBeLessThanOrEqual(2 * 9);
    await waiting.control.script([]);
    await endsWell(world, waiting);
  });

  const untold = [
    ["answers with a wrong ETag: HEAD tells what is there", [rule({ do: "wrong-etag" }, PUTS)]],
    ["answers with no ETag, to HEAD as well: HEAD tells what is there", [rule({ do: "no-etag" })]],
    [
      "answers with no ETag to a PUT and no metadata: HEAD tells what is there",
      [rule({ do: "no-etag" }, PUTS), rule({ do: "drop-meta" }, HEADS)],
    ],
    ["has ETags of its own that look like MD5, and keeps no metadata: it is read back", [rule({ do: "own-etag" })]],
    ["answers with no ETag: HEAD tells what is there", [rule({ do: "no-etag" }, PUTS)]],
    ["answers with a wrong ETag, to HEAD as well: HEAD tells what is there", [rule({ do: "wrong-etag" })]],
    ["answers with no metadata: HEAD tells what is there", [rule({ do: "drop-meta" })]],
  ] as const satisfies readonly (readonly [string, readonly Rule[]])[];
  for (const [fault, rules] of variants(untold, 4)) {
    storeRow(`the store ${fault}`, STORES, async (world) => {
      const waiting = await failingJob(world, rules);
      await pass(world);
      expect(await countsOf(waiting.job)).toMatchObject({ delivered: 10, pending: 0 });
      await endsWell(world, waiting);
      expect(await written(waiting.control)).toBe(1);
    });
  }

  const pages = [
    ["of any length", { "content-length": "1256" }],
    ["with an ETag of its own", { "content-length": "1256", etag: '"5d8c72a5-4e8"' }],
  ] as const;
  for (const [name, page] of variants(pages)) {
    storeRow(`a proxy answers HEAD with a page ${name}, for a day`, OVER_HTTP, async (world) => {
      const waiting = await failingJob(world, [
        rule({ do: "no-etag" }, PUTS),
        rule({ do: "answer", status: 200, headers: page }, HEADS),
      ]);
      for (let hours = 0; hours < 24; hours += 3) await pass(world, 3 * HOUR_MS);
      expect(await countsOf(waiting.job)).toMatchObject({ delivered: 0, pending: 10 });
      await waiting.control.script([]);
      await world.settle();
      expect(await said(waiting.job)).toBeNull();
    });

    storeRow(
      `an answer is lost, and for an hour a proxy answers everything with a page ${name}`,
      OVER_HTTP,
      async (world) => {
        const { "content-length": _length, ...headers } = page;
        const waiting = await failingJob(world, [
          rule({ do: "reset", when: "after" }, PUTS, 1),
          rule({ do: "answer", status: 200, headers: page }, HEADS),
          rule({ do: "answer", status: 200, headers, body: "x".repeat(1256) }),
        ]);
        await pass(world);
        for (let i = 0; i < 12; i++) await pass(world, 300_000);
        expect(await countsOf(waiting.job)).toMatchObject({ delivered: 0, pending: 10 });
        await waiting.control.script([]);
        await endsWell(world, waiting);
        expect(await written(waiting.control)).toBe(1);
      },
    );
  }
});

describe("an answer that is lost", () => {
  const lost: readonly (readonly [string, Action, words: string])[] = [
    ["with the connection", { do: "reset", when: "after" }, "connection failed; logship is retrying"],
    ["behind a proxy", { do: "answer", status: 503, store: true }, "HTTP 503; logship is retrying"],
  ];
  /**
   * The most telling first. `verified`: the value at the end; null: undelivered until HEAD answers.
   */
  const heads: readonly (readonly [name: string, action: Action | null, verified: boolean | null])[] = [
    ["HEAD shows the object", null, true],
    ["HEAD is answered 403", { do: "answer", status: 403, code: "AccessDenied" }, false],
    ["HEAD is answered 500", { do: "answer", status: 500 }, null],
    ["HEAD shows no checksum, and the ETag", { do: "drop-meta" }, true],
    ["HEAD shows a wrong ETag, and our checksum", { do: "wrong-etag" }, true],
    ["HEAD is not answered", { do: "reset", when: "before" }, null],
    ["HEAD shows no ETag, and our checksum", { do: "no-etag" }, true],
    ["HEAD is answered 401", { do: "answer", status: 401 }, false],
    ["HEAD is answered 405", { do: "answer", status: 405 }, false],
    ["HEAD is answered 501", { do: "answer", status: 501 }, false],
    ["HEAD is answered 429", { do: "answer", status: 429 }, null],
    ["HEAD is redirected", { do: "redirect", location: "/elsewhere/x" }, null],
  ];
  for (const [[how, action, words], [name, head, verified]] of cells(lost, variants(heads, 6))) {
    storeRow(
      `the answer to a PUT is lost ${how}, and ${name}`,
      head === null && action.do === "reset" ? TELLS : OVER_HTTP,
      async (world) => {
        const waiting = await failingJob(world, [rule(action, PUTS, 1), ...(head === null ? [] : [rule(head, HEADS)])]);
        await pass(world);
        expect(await said(waiting.job)).toContain(words);
        expect(await countsOf(waiting.job)).toMatchObject({ delivered: 0, pending: 10 });
        for (let i = 0; i < 6; i++) await pass(world, 300_000);
        expect(await countsOf(waiting.job)).toMatchObject(verified === null ? { pending: 10 } : { delivered: 10 });
        if (verified === null) await waiting.control.script([]);
        await endsWell(world, waiting, { verified: verified ?? true });
        expect(await written(waiting.control)).toBe(1);
      },
    );
  }
});

describe("a store that does not know If-None-Match", () => {
  const conditional: Match = { conditional: true };
  const refuses: Rule = rule({ do: "answer", status: 501, code: "NotImplemented" }, conditional);
  const ignores: Rule = rule({ do: "ignore-conditional" }, PUTS);

  row("the store answers 501 to the condition: asked without it, and remembered", async (world) => {
    const waiting = await failingJob(world, [refuses]);
    await pass(world);
    expect(await countsOf(waiting.job)).toMatchObject({ delivered: 10, pending: 0 });
    await arrive(world, world.mint(10));
    await pass(world);
    expect(await countsOf(waiting.job)).toMatchObject({ delivered: 20, pending: 0 });
    expect((await waiting.control.requests()).filter(({ status }) => status === 501)).toHaveLength(1);
  });

  const conditions = [
    ["answers 501 to the condition", [refuses]],
    ["ignores the condition", [ignores]],
  ] as const;
  const losses = [
    ["with the connection", { do: "reset", when: "after" }],
    ["behind a proxy", { do: "answer", status: 503, store: true }],
  ] as const satisfies readonly (readonly [string, Action])[];
  const heads = [
    ["shows the object", []],
    ["is refused", [rule({ do: "answer", status: 403 }, HEADS)]],
  ] as const;
  for (const [[name, rules], [[how, action], [what, head]]] of cells(conditions, cells(losses, heads))) {
    storeRow(`the store ${name}, loses two answers ${how}, and HEAD ${what}`, OVER_HTTP, async (world) => {
      const waiting = await waitingJob(world);
      const unconditional = rules[0] === refuses ? { ...PUTS, conditional: false } : PUTS;
      await waiting.control.script([...head, rule(action, unconditional, 2), ...rules]);
      await world.settle();
      const objects = (await waiting.control.objects()).filter(({ key }) => key.endsWith(".log.gz"));
      expect(objects).toHaveLength(1);
      await endsWell(world, waiting);
    });
  }
});

/** Requests of another client of the store to one key. */
function otherClient(bucket: string, key: string): (method: string, body?: string) => Promise<Response> {
  const client = new AwsClient({ accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY, service: "s3", region: "auto" });
  return (method, body = "") => {
    const headers = { "x-amz-content-sha256": createHash("sha256").update(body).digest("hex") };
    const init = { method, headers, ...(body !== "" && { body }) };
    return client.fetch(`${inject("s3Url")}/${bucket}/${key}`, init);
  };
}

describe("another object under the key", () => {
  storeRow("another writer's object has the key: it stays, ours gets a new key", TELLS, async (world) => {
    const waiting = await waitingJob(world);
    const { job, control } = waiting;
    await control.script([rule({ do: "reset", when: "before" }, PUTS, 1)]);
    await pass(world);
    const key = (await jobObjects(job.id))[0]?.key ?? "";
    const theirs = otherClient(job.buckets[0]?.name ?? "", key);
    expect((await theirs("PUT", "theirs")).status).toBe(200);
    await endsWell(world, waiting, { number: 2 });
    expect(new TextDecoder().decode(await control.object(key))).toBe("theirs");
    // The audit does not expect this object.
    expect((await theirs("DELETE")).status).toBe(204);
  });

  storeRow("the store ignores the condition, and another object stands there: it stays", TELLS, async (world) => {
    const waiting = await waitingJob(world);
    const { job, control } = waiting;
    // Neither the trial of the condition nor the first object gets through.
    await control.script([rule({ do: "reset", when: "before" }, { method: "PUT" })]);
    await pass(world);
    const key = (await jobObjects(job.id))[0]?.key ?? "";
    const theirs = otherClient(job.buckets[0]?.name ?? "", key);
    await control.script([]);
    expect((await theirs("PUT", "theirs")).status).toBe(200);
    await control.script([rule({ do: "ignore-conditional" }, { method: "PUT" })]);
    await endsWell(world, waiting, { number: 2 });
    expect(new TextDecoder().decode(await control.object(key))).toBe("theirs");
    // It is noticed once: the probe is created twice.
    const before = (await control.requests()).length;
    await world.take(world.mint(10));
    await world.settle();
    const asked = (await control.requests()).slice(before).filter(({ state }) => state === "answered");
    expect(asked.map(({ method }) => method)).toEqual(["HEAD", "PUT"]);
    expect((await theirs("DELETE")).status).toBe(204);
  });

  const taken = rule({ do: "answer", status: 412, code: "PreconditionFailed" }, PUTS);
  const shown = [
    ["shows another object", { do: "answer", status: 200, headers: { etag: `"${"0".repeat(32)}"` } }, /every key/],
    ["shows nothing", { do: "answer", status: 404 }, /HTTP 412 PreconditionFailed, but the object is not there/],
    ["is not answered", { do: "reset", when: "before" }, /HTTP 412 PreconditionFailed, then connection failed to HEAD/],
  ] as const satisfies readonly (readonly [string, Action, RegExp])[];
  for (const [name, head, words] of variants(shown)) {
    storeRow(`the store answers 412 for a day, and HEAD ${name}`, STORES, async (world) => {
      const waiting = await failingJob(world, [taken, rule(head, HEADS)]);
      for (let halfHours = 0; halfHours < 48; halfHours++) await pass(world, HOUR_MS / 2);
      expect(await said(waiting.job)).toMatch(words);
      expect(await countsOf(waiting.job)).toMatchObject({ delivered: 0, pending: 10 });
      expect(await attempts(waiting.control)).toBeLessThan(60);
      await waiting.control.script([]);
      await world.settle();
      expect([await said(waiting.job), await written(waiting.control)]).toEqual([null, 1]);
    });
  }
});

describe("an object that the store refuses for itself", () => {
  const refusals = [
    [413, "EntityTooLarge"],
    [400, "InvalidArgument"],
  ] as const;
  for (const [status, code] of variants(refusals)) {
    storeRow(
      `the store answers ${status} ${code} to one object of three: it is set aside`,
      OVER_HTTP,
      async (world) => {
        const job = await world.createJob();
        const events = world.mint(30, { days: 3 });
        await arrive(world, events);
        const control = controlOf(job);
        await control.script([rule({ do: "answer", status, code }, { ...PUTS, keyIncludes: "/21001121/" })]);
        await pass(world);
        expect(await countsOf(job)).toMatchObject({ received: 30, delivered: 20, set_aside: 10, pending: 0 });
        const aside = (await jobObjects(job.id)).filter(({ state }) => state === "set_aside");
        expect(aside).toMatchObject([{ records: 10, error: `an object is on hold: HTTP ${status} ${code}` }]);
        expect(await said(job)).toBe(`an object is on hold: HTTP ${status} ${code}`);
        world.jobs.setAside(
          job,
          events.filter(({ day }) => day === "21001121"),
        );
        // The store takes the object by now, but set-aside objects are only sent again on request.
        await control.script([]);
        await arrive(world, world.mint(7));
        for (let i = 0; i < 5; i++) await pass(world, HOUR_MS);
        expect(await countsOf(job)).toMatchObject({ received: 37, delivered: 27, set_aside: 10, pending: 0 });
      },
    );

    storeRow(
      `the store answers ${status} ${code} to everything: parked, nothing set aside`,
      OVER_HTTP,
      async (world) => {
        const waiting = await failingJob(world, rule({ do: "answer", status, code }));
        for (let i = 0; i < 12; i++) {
          await pass(world, 300_000);
          expect(await said(waiting.job)).toMatch(new RegExp(`^delivery paused: HTTP ${status} ${code}`));
          expect(await countsOf(waiting.job)).toMatchObject({ pending: 10, set_aside: 0 });
        }
        await waiting.control.script([]);
        await endsWell(world, waiting);
      },
    );
  }

  storeRow("the store answers 413 to an object, and cannot be asked what it means", OVER_HTTP, async (world) => {
    const waiting = await failingJob(world, [
      rule({ do: "answer", status: 413, code: "EntityTooLarge" }, PUTS, 3),
      // Nor does it say what it does with a condition.
      rule({ do: "answer", status: 503 }, { method: "PUT" }, 6),
    ]);
    await pass(world);
    expect(await countsOf(waiting.job)).toMatchObject({ pending: 10, set_aside: 0 });
    await endsWell(world, waiting);
  });
});
