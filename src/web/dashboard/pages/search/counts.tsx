import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import type * as z from "zod";
import { CODE, type ErrorEntry } from "../../../../base/errors.ts";
import { bytes, duration, plural } from "../../../../base/words.ts";
import { lookedSince } from "../../../../operate/search/words.ts";
import type { SearchEstimate } from "../../../api/docs/search.ts";
import { type PageAnswer, type PageContext, REFRESH_HEADER } from "../../page.ts";
import type { Viewer } from "../../session.ts";
import { loadVersions } from "../functions/health.tsx";
import { type Asked, askedOf, facetsOf, NOTHING, questionOf, searchPath } from "./address.ts";
import { Facets, Histogram, slotsOf } from "./figures.tsx";
import { COUNTS_BEGIN, linesOf, NoTime, NotSearched, Progress, SearchRefused, Way } from "./hits.tsx";
import { Sums } from "./sums.ts";

/**
 * What is counted without asking, in bytes before compression: some 250,000 records, which take
 * about 4 s of CPU time, or $0.00008.
 */
const UNASKED_MAX_BYTES = 200_000_000;

/** What it takes to count a record, in ms: 8 to 14 µs, and about one for each facet. */
const RECORD_MS = 0.016;

/** Cursor and sums that a form takes beside the question, in characters. */
const GOES_ON_MAX = 440_000;

/** After each state of the figures: the script of the page Search shows the newest. */
const PIECE = raw("<!--piece-->");

/**
 * Counts all records of a search: one answer of the API. Where that is not all, it ends with the
 * way on, which has the sums so far with it. Meanwhile it says how far it is; to the script of the
 * page Search, with all figures.
 */
export async function countsView(page: PageContext): Promise<PageAnswer> {
  const asked = askedOf(page.query) ?? NOTHING;
  return {
    title: "Counts",
    scripts: ["search"],
    trail: [{ href: searchPath({ ...asked, cursor: "" }), label: "Records" }],
    parts: [framed(countsOf(page, asked))],
  };
}

async function* framed(pieces: AsyncGenerator<Child>): AsyncGenerator<Child> {
  yield raw(`<div class="answered">${COUNTS_BEGIN}`);
  yield* pieces;
  yield raw("</div>");
}

async function* countsOf(page: PageContext, asked: Asked): AsyncGenerator<Child> {
  const { api, query, nowMs, viewer, request } = page;
  const names = facetsOf(asked);
  const ended = (figures: Child, facets: Sums["facets"] = []): Child => (
    <Piece figures={figures} facets={facets} asked={asked} isLast />
  );
  let question: ReturnType<typeof questionOf>;
  try {
    question = questionOf(asked, nowMs);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    yield ended(<NoTime text={error.message} />);
    return;
  }
  const before = asked.cursor === "" ? new Sums(names) : Sums.read(query.get("so_far") ?? "", names);
  if (before === null) {
    const message = "the sums so far are those of another count";
    yield ended(<SearchRefused errors={[{ code: CODE.invalid, message }]} asked={asked} />);
    return;
  }
  const refused = (errors: readonly ErrorEntry[]): Child =>
    ended(
      <>
        <SearchRefused errors={errors} asked={asked} />
        <CountWay page={page} asked={asked} label="Count again" isAll={query.has("all")} />
      </>,
    );
  if (asked.cursor === "" && !query.has("all")) {
    const dry = await api.send<z.infer<typeof SearchEstimate>>("POST", "/logship/search", {
      ...question,
      dry_run: true,
    });
    if (!dry.ok) {
      yield refused(dry.errors);
      return;
    }
    if (dry.result.raw_bytes > UNASKED_MAX_BYTES) {
      yield ended(<Estimated {...dry.result} page={page} asked={asked} />);
      return;
    }
  }
  const versions = asked.function === "" ? [] : await loadVersions(page, asked.function);
  const span = { sinceMs: Date.parse(question.since), untilMs: Date.parse(question.until) };
  const counted = { by: ["outcome"], every: slotsOf(span).every, facets: names };
  const response = await api.raw("POST", "/logship/search", { ...question, count: counted });
  if (!response.ok || response.body === null) {
    const { errors } = (await response.json()) as { errors: ErrorEntry[] };
    yield refused(errors);
    return;
  }
  let sums = before;
  for await (const lines of linesOf(response.body)) {
    const groups = lines.findLast((line) => line.type === "groups");
    const progress = lines.findLast((line) => line.type === "progress");
    const end = lines.find((line) => line.type === "end");
    if (groups !== undefined) {
      const looked = sums.looked;
      sums = before.with(groups);
      sums.looked = looked;
      if (groups.at !== null) sums.atMs = Date.parse(groups.at);
    }
    if (progress !== undefined) sums.looked = lookedSince(before.looked, progress);
    const figures = (isWhole: boolean, isDraft: boolean): Child => (
      <>
        <Histogram {...{ sums, span, asked, versions, isDraft, isWhole }} />
        <Progress {...sums.looked} shown={sums.total} />
      </>
    );
    if (end === undefined) {
      if (!request.headers.has(REFRESH_HEADER)) yield <Progress {...sums.looked} shown={sums.total} />;
      else yield <Piece figures={figures(false, true)} facets={sums.facets} asked={asked} isLast={false} />;
      continue;
    }
    const [ok, failed, other] = sums.untimed;
    sums.untimed = [ok, failed, other + (end.other?.values[0] ?? 0)];
    sums.left = [...before.left, ...end.not_searched].slice(0, LEFT_MAX);
    yield ended(
      <>
        {figures(end.cursor === null, false)}
        {end.cursor !== null && <GoesOn sums={sums} cursor={end.cursor} asked={asked} viewer={viewer} />}
        <NotSearched left={sums.left} />
      </>,
      sums.facets,
    );
  }
}

/** Reasons that go on from answer to answer. */
const LEFT_MAX = 100;

/** A state of the figures, in their section, which is open, and of the values beside. */
const Piece: FC<{ figures: Child; facets: Sums["facets"]; asked: Asked; isLast: boolean }> = (props) => (
  <>
    <div id="figures">{props.figures}</div>
    {props.isLast && raw("</section>")}
    <Facets facets={props.facets} asked={props.asked} />
    {PIECE}
  </>
);

const CountWay: FC<{ page: PageContext; asked: Asked; label: string; isAll: boolean }> = (props) => {
  const { page, asked, label, isAll } = props;
  const soFar = asked.cursor === "" ? null : page.query.get("so_far");
  return (
    <Way
      to="/search/counts"
      asked={asked}
      viewer={page.viewer}
      label={label}
      go="asked"
      more={{ ...(isAll && { all: "1" }), ...(soFar !== null && { so_far: soFar }) }}
    />
  );
};

const Estimated: FC<z.infer<typeof SearchEstimate> & { page: PageContext; asked: Asked }> = (props) => {
  const { objects, skipped, bytes: stored, raw_bytes, records, not_searched, page, asked } = props;
  const time = duration(Math.max(1_000, records * RECORD_MS));
  return (
    <>
      <p>
        To count them, {plural(objects - skipped, "file")} with about {plural(records, "record")} have to be read:{" "}
        {bytes(stored)}, {bytes(raw_bytes)} before compression.
      </p>
      <CountWay page={page} asked={asked} label={`Count all: about ${bytes(stored)}, ${time}`} isAll />
      <NotSearched left={not_searched} />
    </>
  );
};

const GoesOn: FC<{ sums: Sums; cursor: string; asked: Asked; viewer: Viewer }> = ({ sums, cursor, asked, viewer }) => {
  const soFar = sums.write();
  if (cursor.length + soFar.length > GOES_ON_MAX)
    return <p>There is more than this page can go on with: count a shorter time, or in a terminal.</p>;
  return (
    <Way
      to="/search/counts"
      asked={{ ...asked, cursor }}
      viewer={viewer}
      label="Go on counting"
      go="auto"
      more={{ so_far: soFar }}
    />
  );
};
