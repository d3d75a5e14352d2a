import { createHash } from "node:crypto";
import { within } from "../../platform.ts";
import { whyUnreachable } from "../connection.ts";
import type { NetworkPlatform, OpenDestination } from "../destination.ts";
import { classify, isSuccess, mayMeanHeader, readAnswer } from "./answers.ts";
import { look, type Seen } from "./look.ts";
import { inManner, LEFT_OUT } from "./manner.ts";
import { ObjectStore, type S3Destination } from "./object-store.ts";
import { type Probed, writeChallenge, writeFault, writeProbe } from "./probe.ts";
import { uploadObject } from "./upload.ts";

const STANDS: { readonly [shown in Seen["shown"]]: "there" | "not_there" | "unknown" } = {
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
    write: (object, body, { doubtful, leaveOut }) =>
      uploadObject({ ...object, doubtful }, body, store, { leaveOut, path, nowMs: platform.now() }),
    stands: async (object) => STANDS[(await look(store, object.key, object)).shown],
    overwrite: async (object, body) => {
      const md5 = createHash("md5").update(body).digest("hex");
      const overwrite = (leaveOut: number) => store.put({ ...object, body, ...inManner(leaveOut, md5) });
      const answer = await overwrite(LEFT_OUT.condition);
      // Some stores know no Content-MD5, and nothing is kept of that here.
      const again = mayMeanHeader(answer) ? await overwrite(LEFT_OUT.condition + LEFT_OUT.digest) : answer;
      return classify(isSuccess(again) ? again : answer);
    },
    read: async (key) => {
      const { answer, body } = await store.get(key);
      return readAnswer(answer, body);
    },
    probe: async () => fault(await writeProbe(store, path, platform.now()), destination, platform),
    challenge: async (key, token) => fault(await writeChallenge(store, key, token), destination, platform),
  };
}

/** How long finding out why a connection fails may take, in ms. */
const WHY_WAIT_MS = 6_000;

/** As {@link writeFault}, with the reason for a failed connection. */
async function fault(
  probed: Probed,
  { endpoint }: Pick<S3Destination, "endpoint">,
  platform: NetworkPlatform,
): Promise<string | null> {
  if (probed.kind === "written") return null;
  const { cause } = probed.failure;
  // Some servers answer plain http at a port of https with 400.
  const hasAnswered = cause === 400 && endpoint.protocol === "http:";
  const isDoubtful = cause === "connection_failed" || hasAnswered;
  const why = isDoubtful ? await within(WHY_WAIT_MS, whyUnreachable(endpoint, platform, hasAnswered), null) : null;
  return writeFault(
    why === null ? probed : { ...probed, failure: { ...probed.failure, words: `connection failed: ${why}` } },
  );
}
