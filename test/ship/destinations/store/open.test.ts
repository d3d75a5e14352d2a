import { it } from "vitest";
import type { PutRequest, StoreAnswer, StoreClient } from "../../../../src/ship/destinations/store/client.ts";
import { openStore } from "../../../../src/ship/destinations/store/open.ts";
import { fixed, answer as storeAnswer } from "../objects.ts";

const BYTES = new TextEncoder().encode("an object\n");
const object = fixed(BYTES, { contentType: "text/plain" });
const answer = (status: number): StoreAnswer => storeAnswer(status, { etag: `"${object.md5}"` });

/**
 * A store that answers the PUTs of its probe with these, one after the other, and all others when
 * it is let go.
 */
function opened(trials: readonly StoreAnswer[]) {
  const asked: string[] = [];
  const left = [...trials];
  const { promise: released, resolve: letGo } = Promise.withResolvers<void>();
  const store: StoreClient = {
    put: async ({ key }: PutRequest) => {
      asked.push(key);
      if (key.includes("test")) return left.shift() ?? answer(500);
      await released;
      return answer(200);
    },
    head: async () => answer(404),
    get: async () => ({ answer: answer(404), body: null }),
  };
  const open = openStore(store, {
    path: "logs",
    platform: { now: () => 0, sleep: async () => {} },
    why: async () => null,
  });
  const write = (key: string) => open.write({ ...object, key }, () => BYTES, { doubtful: false, leaveOut: 0 });
  return { asked, write, letGo };
}

/** All that goes on without waiting for the store. */
const turn = (): Promise<void> => scheduler.wait(0);

it("a write that begins when another's trial is over, and its PUT is not, does not try the condition again", async ({
  expect,
}) => {
  const { asked, write, letGo } = opened([answer(412), answer(412)]);
  const first = write("a");
  await turn();
  const second = write("b");
  await turn();
  letGo();
  expect(await Promise.all([first, second])).toMatchObject([{ kind: "delivered" }, { kind: "delivered" }]);
  expect(asked).toEqual(["logs/test.txt.gz", "a", "b"]);
});

it("what a trial did not decide is tried again by the next write", async ({ expect }) => {
  const { asked, write, letGo } = opened([answer(503), answer(412)]);
  letGo();
  await write("a");
  await write("b");
  await write("c");
  expect(asked.filter((key) => key.includes("test"))).toHaveLength(2);
});
