import type { NetworkPlatform, OpenDestination } from "../destination.ts";
import { classify, readAnswer } from "./answers.ts";
import { ObjectStore, type S3Destination } from "./object-store.ts";
import { writeChallenge, writeFault, writeProbe } from "./probe.ts";
import { compare, type Shown } from "./stored.ts";
import { uploadObject } from "./upload.ts";

const STANDS: { readonly [shown in Shown]: "there" | "not_there" | "unknown" } = {
  same: "there",
  hidden: "unknown",
  unknown: "unknown",
  damaged: "not_there",
  different: "not_there",
  absent: "not_there",
  nameless: "not_there",
};

/** A bucket that speaks S3. */
export function openBucket(destination: S3Destination, path: string, platform: NetworkPlatform): OpenDestination {
  const store = new ObjectStore(destination, platform);
  return {
    write: (object, body, { doubtful, createOnly }) =>
      uploadObject({ ...object, doubtful }, body, store, { conditional: createOnly, path }),
    stands: async (object) => STANDS[compare(await store.head(object.key), object)],
    overwrite: async (object, body) => classify(await store.put({ ...object, body, conditional: false })),
    read: async (key) => {
      const { answer, body } = await store.get(key);
      return readAnswer(answer, body);
    },
    probe: async () => writeFault(await writeProbe(store, path)),
    challenge: async (key, token) => writeFault(await writeChallenge(store, key, token)),
  };
}
