import { it } from "vitest";
import { Loading } from "../../../tools/local/src/loading.ts";

const CODE: WorkerLoaderWorkerCode = { compatibilityDate: "2026-09-25", mainModule: "index.js", modules: {} };

/** Like the runtime's loader: it keeps the first result of an id, even a failure. */
function keepingLoader(): Pick<WorkerLoader, "get"> {
  const kept = new Map<string, Promise<unknown>>();
  return {
    get(id, load) {
      const loaded = kept.get(id ?? "") ?? Promise.resolve(load());
      kept.set(id ?? "", loaded);
      const fetch = async (): Promise<Response> => {
        await loaded;
        return new Response("ran");
      };
      return { getEntrypoint: () => ({ fetch }) } as unknown as WorkerStub;
    },
  };
}

const textOf = async (stub: WorkerStub): Promise<string> =>
  (await stub.getEntrypoint().fetch("http://shop.localhost/")).text();

it("asks again for code that could not be had, and only once for what could, each version by itself", async ({
  expect,
}) => {
  const loading = new Loading(keepingLoader());
  const asked: string[] = [];
  const outcomes: string[] = [];
  const visit = async (name: string, version: string, fails: boolean): Promise<void> => {
    const code = async (): Promise<WorkerLoaderWorkerCode> => {
      asked.push(`${name} ${version}`);
      if (fails) throw new Error("no answer");
      return CODE;
    };
    try {
      outcomes.push(await loading.ask({ name, version, code }, textOf));
    } catch (error) {
      outcomes.push(String(error));
    }
  };
  await visit("shop", "1", true);
  await visit("shop", "1", true);
  await visit("shop", "1", false);
  await visit("shop", "1", true);
  await visit("shop", "2", false);
  await visit("other", "1", false);
  expect(outcomes).toEqual(["Error: no answer", "Error: no answer", "ran", "ran", "ran", "ran"]);
  expect(asked).toEqual(["shop 1", "shop 1", "shop 1", "shop 2", "other 1"]);
});

it("loads anew what has ended its own isolate, once for all requests that met its end, and nothing that only throws", async ({
  expect,
}) => {
  const ids: (string | null)[] = [];
  const loading = new Loading({
    get(id) {
      ids.push(id);
      return {} as WorkerStub;
    },
  });
  const asked = { name: "shop", version: "1", code: async () => CODE };
  const failing = (error: unknown): Promise<unknown> =>
    loading.ask(asked, () => Promise.reject(error)).catch((thrown) => expect(thrown).toBe(error));
  const gone = new Error("internal error; reference = 3p5huqotu9bg6gfb3pc2dhda");
  await failing(new TypeError("as asked"));
  await failing("internal error; reference = a text");
  await Promise.all([failing(gone), failing(gone), failing(gone)]);
  expect(await loading.ask(asked, async () => "ran")).toBe("ran");
  expect(ids).toEqual([...Array(5).fill("shop@1#0"), "shop@1#1"]);
});
