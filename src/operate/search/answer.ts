import { waitUntil } from "cloudflare:workers";
import { encodeUtf8 } from "../../base/bytes.ts";
import { errorText, log } from "../../base/logger.ts";
import { within } from "../../base/platform.ts";
import type { Facet } from "./count/facets.ts";
import type { Row } from "./count/groups.ts";
import type { CountPlan } from "./count/plan.ts";
import { type CountEnd, count, type Unlisted } from "./count.ts";
import { type Span, writeCursor } from "./cursor.ts";
import type { Hit } from "./hits.ts";
import { inWords, type Left, type NotSearched, TOO_MANY_AT_ONCE } from "./not-searched.ts";
import type { Progress, WalkEnd } from "./page.ts";
import { type Asked, search } from "./search.ts";
import type { Listed } from "./sources.ts";

/** The last line of an answer. */
interface End extends Partial<Unlisted> {
  complete: boolean;
  cursor: string | null;
  not_searched: Left[];
}

export interface Answering {
  listed: Listed;
  /** What is not searched on this page, beside what `listed` says. */
  notSearched: readonly NotSearched[];
  asked: Omit<Asked, "signal">;
  /** What is counted, instead of told; null: nothing. */
  count: { plan: CountPlan; top: number } | null;
  span: Span;
  /** As of a cursor. */
  question: string;
  /** The cursor that was sent. */
  token: string | null;
  /** As of that cursor. */
  lacked: boolean;
  /** How long the client may take for what is left when the search has ended, in ms. */
  takenMs: number;
  /** The client is gone: the platform does not always cancel its answer. */
  gone: AbortSignal;
  /** It has ended, for whatever reason, and nothing of it is held any more. */
  onEnd(): Promise<void>;
}

/**
 * A search as the lines of its answer: hits, or groups, and progress as they come, and its end. It
 * breaks off where the client does not take them: they are held until then.
 */
export function answerLines({
  listed,
  notSearched,
  asked,
  count: counted,
  span,
  question,
  token,
  lacked,
  takenMs,
  gone,
  onEnd,
}: Answering): ReadableStream<Uint8Array> {
  const aborted = new AbortController();
  let isGone = false;
  /** Called when nothing is held. */
  let taken = (): void => {};
  const allTaken = ({ desiredSize }: ReadableStreamDefaultController<Uint8Array>): Promise<boolean> => {
    if (isGone || (desiredSize ?? 1) > 0) return Promise.resolve(true);
    return within(takenMs, new Promise<true>((resolve) => (taken = () => resolve(true))), false);
  };
  const stop = (): void => {
    isGone = true;
    aborted.abort();
    taken();
  };
  gone.addEventListener("abort", stop);
  // It may have left before there was an answer.
  if (gone.aborted) stop();
  return new ReadableStream<Uint8Array>({
    // Not awaited: nothing is pulled before the start is over. But without a client, the platform
    // would end all of it at once, and its end would not be told.
    start(controller) {
      waitUntil(run(controller));
    },
    pull: () => taken(),
    cancel: stop,
  });

  async function run(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const line = (text: string): void => {
      if (!aborted.signal.aborted) controller.enqueue(encodeUtf8(`${text}\n`));
    };
    const progress = ({ reachedMs, bytesRead, sketchBytes, ...counts }: Progress): void =>
      line(
        JSON.stringify({
          type: "progress",
          ...counts,
          bytes_read: bytesRead,
          sketch_bytes: sketchBytes,
          reached: isoOf(reachedMs),
        }),
      );
    const end = (what: End): void => line(JSON.stringify({ type: "end", ...what }));
    try {
      const hits = (all: readonly Hit[]): void => {
        for (const { place, object, json, alsoIn } of all)
          line(
            `{"type":"hit","job_id":${place[1]},"object":${object},"line":${place[4]},"also_in":[${alsoIn}],"record":${json}}`,
          );
      };
      const groups = (
        rows: readonly Row[],
        facets: readonly Facet[],
        reachedMs: number | null,
        isLast: boolean,
      ): void => {
        // Those that are told next take the place of these.
        if (isLast || (controller.desiredSize ?? 1) > 0)
          line(JSON.stringify({ type: "groups", rows, ...(facets.length > 0 && { facets }), at: isoOf(reachedMs) }));
      };
      const wanted = { ...asked, signal: aborted.signal };
      const found: WalkEnd & Partial<CountEnd> =
        counted === null
          ? await search(listed, wanted, { progress, hits })
          : await count(listed, { ...wanted, ...counted }, { progress, groups });
      progress(found.progress);
      const left = [...notSearched, ...listed.notSearched, ...found.notSearched];
      const lacks = lacked || left.length > 0;
      const cursor =
        found.cursor === null ? null : writeCursor({ cursor: found.cursor, span, lacks, jobs: listed.order }, question);
      // More objects have records of one moment than are listed at once, or named by a cursor: no
      // page would get further.
      const isStuck = found.cursor !== null && (cursor === null || cursor === token);
      if (isStuck) left.push({ job: null, object: null, why: TOO_MANY_AT_ONCE });
      const isEnd = cursor === null || isStuck;
      end({
        ...{ complete: isEnd && !isStuck && !lacks, cursor: isEnd ? null : cursor, not_searched: inWords(left) },
        ...found.unlisted,
      });
    } catch (error) {
      log.error("a search broke", { error: errorText(error) });
      const broken = { job: null, what: "the rest", why: "an internal error ended the search: search again" };
      end({ complete: false, cursor: null, not_searched: [broken] });
    } finally {
      // Of a search that broke, other objects may still be read.
      aborted.abort();
      const isTaken = await allTaken(controller);
      await onEnd();
      if (!isTaken) controller.error(new Error("the client did not take its answer in time"));
      else if (!isGone) controller.close();
    }
  }
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
