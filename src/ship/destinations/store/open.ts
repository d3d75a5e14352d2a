import { createHash } from "node:crypto";
import { type Platform, within } from "../../../base/platform.ts";
import { whyUnreachable } from "../connection.ts";
import type { NetworkPlatform, OpenDestination } from "../destination.ts";
import type { Failure } from "../failure.ts";
import { classify, isSuccess, mayMeanHeader, readAnswer } from "./answers.ts";
import type { StoreClient } from "./client.ts";
import { look, type Seen } from "./look.ts";
import { inManner, LEFT_OUT } from "./manner.ts";
import { type Probed, persistently, spaced, tryCondition, writeChallenge, writeFault, writeProbe } from "./probe.ts";
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

/**
 * A store, by its client.
 * @param path where the probes of its writes go.
 * @param why asks why no connection comes about, in words; null: it does.
 */
export function openStore(
  store: StoreClient,
  { path, platform, why }: { path: string; platform: Pick<Platform, "now" | "sleep">; why: Why },
): OpenDestination {
  const probes = spaced(store, platform);
  const probe = (from = 0): Promise<Probed> => writeProbe(probes, path, platform.now(), from);
  const trials = new Map<number, ReturnType<typeof tryCondition>>();
  /**
   * Writes that know nothing yet try the condition once. One that begins late may still know
   * nothing when others have tried it: what a trial decided stays, the rest is tried again.
   */
  const tryOnce = (leaveOut: number): ReturnType<typeof tryCondition> => {
    const earlier = trials.get(leaveOut);
    if (earlier !== undefined) return earlier;
    const trial = tryCondition(probes, path, leaveOut);
    trials.set(leaveOut, trial);
    const forget = (): void => void trials.delete(leaveOut);
    trial.then((answer) => typeof answer === "string" || forget(), forget);
    return trial;
  };
  return {
    write: (object, body, { doubtful, leaveOut }) =>
      uploadObject({ ...object, doubtful }, body, store, { leaveOut, tryCondition: tryOnce, probe }),
    stands: async (object) => STANDS[(await look(store, object.key, object)).shown],
    overwrite: async (object, body) => {
      const md5 = createHash("md5").update(body).digest("hex");
      const overwrite = (leaveOut: number) => probes.put({ ...object, body, ...inManner(leaveOut, md5) });
      const answer = await overwrite(LEFT_OUT.condition);
      // Some stores know no Content-MD5, and nothing is kept of that here.
      const again = mayMeanHeader(answer) ? await overwrite(LEFT_OUT.condition + LEFT_OUT.digest) : answer;
      return classify(isSuccess(again) ? again : answer);
    },
    read: async (key, range) => {
      const { answer, body } = await store.get(key, range);
      return readAnswer(answer, body);
    },
    probe: async () => fault(await persistently(() => probe()), why),
    challenge: async (key, token) => fault(await persistently(() => writeChallenge(probes, key, token)), why),
  };
}

type Why = (failure: Failure) => Promise<string | null>;

/** How long finding out why a connection fails may take, in ms. */
const WHY_WAIT_MS = 6_000;

/** Why an endpoint that is reached by HTTP gives no answer of a store. */
export function whyOf(endpoint: URL, platform: NetworkPlatform): Why {
  return async ({ cause }) => {
    // Some servers answer plain http at a port of https with 400.
    const hasAnswered = cause === 400 && endpoint.protocol === "http:";
    if (cause !== "connection_failed" && !hasAnswered) return null;
    return within(WHY_WAIT_MS, whyUnreachable(endpoint, platform, hasAnswered), null);
  };
}

/** As {@link writeFault}, with the reason for a failed connection. */
async function fault(probed: Probed, why: Why): Promise<string | null> {
  if (probed.kind === "written") return null;
  const words = await why(probed.failure);
  return writeFault(
    words === null ? probed : { ...probed, failure: { ...probed.failure, words: `connection failed: ${words}` } },
  );
}
