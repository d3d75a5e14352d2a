import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { MINUTE_MS } from "../../../../base/time.ts";
import { plural } from "../../../../base/words.ts";
import { quoted } from "../../../../formats/query/show.ts";
import type { Facet } from "../../../../operate/search/count/facets.ts";
import type { Rest, Row } from "../../../../operate/search/count/groups.ts";
import { type Left, notSearchedLines } from "../../../../operate/search/not-searched.ts";
import {
  alsoInWords,
  FEWER_WORDS,
  LAST,
  type Looked,
  lookedWords,
  NOT_SEARCHED,
  NOTHING_FOUND,
  nothingWords,
  placeWords,
  REFUSED,
  SEARCH_AGAIN,
  widerWays,
} from "../../../../operate/search/words.ts";
import type { PageContext } from "../../page.ts";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Button, Form, may } from "../../parts/form.tsx";
import { Empty, Notice } from "../../parts/panel.tsx";
import { RecordRow } from "../../parts/record.tsx";
import { inSearch, PIN_FORM } from "../../parts/record-links.ts";
import type { Viewer } from "../../session.ts";
import { LINES_PER_PAGE } from "../job/objects.tsx";
import { type Asked, exactly, livePath, questionOf, searchPath } from "./address.ts";
import { Facets } from "./figures.tsx";
import { Refused } from "./question.tsx";

/** Hits of one page. */
const HITS_SHOWN = 100;

/** A longer address, in characters, is sent as a form: browsers and servers take some 8,000. */
const ADDRESS_MAX = 4_000;

type Json = Record<string, unknown>;

type Line =
  | { type: "hit"; job_id: number; object: number | null; line: number; also_in: number[]; record: Json }
  | ({ type: "progress" } & Looked)
  | { type: "groups"; rows: Row[]; facets?: Facet[]; at: string | null }
  | {
      type: "end";
      complete: boolean;
      cursor: string | null;
      not_searched: Left[];
      /** Of a count. */
      other?: Rest | null;
    };
type Hit = Extract<Line, { type: "hit" }>;

/**
 * The answer to a search, piece by piece as it comes: hits, the newest progress, and the end. When
 * the browser stops loading the page, the search stops.
 */
export async function* answerOf({ api, nowMs, viewer }: PageContext, asked: Asked): AsyncGenerator<Child> {
  let question: ReturnType<typeof questionOf>;
  try {
    question = questionOf(asked, nowMs);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    yield <NoTime text={error.message} />;
    return;
  }
  const response = await api.raw("POST", "/logship/search", { ...question, limit: HITS_SHOWN });
  if (!response.ok || response.body === null) {
    const { errors } = (await response.json()) as { errors: ErrorEntry[] };
    yield <SearchRefused errors={errors} asked={asked} />;
    return;
  }
  const [sinceMs, untilMs] = [Date.parse(question.since), Date.parse(question.until)];
  const isOne = untilMs - sinceMs <= (asked.order === "oldest" ? MINUTE_MS : 1);
  yield raw('<div class="answered">');
  yield <Uncounted asked={asked} fixed={{ ...asked, ...exactly(sinceMs, untilMs) }} viewer={viewer} />;
  yield raw(
    '<section class="panel hits" id="hits" aria-labelledby="hits-title"><h2 id="hits-title">Records</h2>' +
      '<button type="button" class="small" data-halt>Stop</button>',
  );
  let shown = 0;
  for await (const lines of linesOf(response.body)) {
    const hits = lines.filter((line) => line.type === "hit");
    const progress = lines.findLast((line) => line.type === "progress");
    const end = lines.find((line) => line.type === "end");
    if (hits.length > 0) yield <Hits {...{ hits, asked, isOne, viewer }} from={shown} />;
    shown += hits.length;
    if (progress !== undefined) yield <Progress {...progress} shown={shown} />;
    if (end === undefined) continue;
    yield <End {...{ end, asked, sinceMs, untilMs, shown, viewer }} />;
  }
  yield raw("</section></div>");
}

export const SearchRefused: FC<{ errors: readonly ErrorEntry[]; asked: Asked }> = ({ errors, asked }) => {
  const phrase = searchPath({ ...asked, q: quoted(asked.q), cursor: "" });
  return <Refused title={REFUSED} errors={errors} query={asked.q} phrase={phrase} />;
};

/** What was given as a time. */
export const NoTime: FC<{ text: string }> = ({ text }) => (
  <Notice kind="warn" title="Time not recognised">
    <p>
      <Foreign text={text} max={100} /> is not a time or time zone. Write it as yesterday 15:00, 11-20 15:00, fri 3pm,
      2026-11-20 15:00:30 +01:00, or 2h ago.
    </p>
  </Notice>
);

/**
 * Where the counts of a search will be. On its first page, a script fetches them when its hits are
 * there. The form takes names whose values are counted, too.
 */
const Uncounted: FC<{ asked: Asked; fixed: Asked; viewer: Viewer }> = ({ asked, fixed, viewer }) => (
  <>
    {raw(COUNTS_BEGIN)}
    <div id="figures">
      <Way
        to="/search/counts"
        asked={{ ...fixed, cursor: "" }}
        viewer={viewer}
        label="Count all records"
        go={asked.cursor === "" ? "auto" : "asked"}
      />
    </div>
    {raw("</section>")}
    <Facets facets={[]} asked={asked} />
    {isPlain(asked) && (
      <form method="get" action="/search" id={PIN_FORM} hidden>
        {Object.entries(asked).map(
          ([name, value]) => name !== "cursor" && value !== "" && <input type="hidden" name={name} value={value} />,
        )}
      </form>
    )}
  </>
);

/** What steers a terminal has no place in a form: such a search pins nothing. */
function isPlain(asked: Asked): boolean {
  return Object.values(asked).every((value) => visible(value) === value);
}

/** The section of counts, up to its figures. */
export const COUNTS_BEGIN =
  '<section class="panel counts" aria-labelledby="counts-title"><header><h2 id="counts-title">All records</h2>' +
  '<button type="button" class="small" data-stop hidden>Stop counting</button></header><p class="unseen" role="status" data-said></p>';

/** The lines of an answer, as many at once as came at once. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Line[]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (lines.length > 0) yield lines.map((line) => JSON.parse(line) as Line);
    }
  } finally {
    // The page was closed, and the rest is not wanted.
    reader.cancel().catch(() => {});
  }
}

/** Each stands in place of the one before it: the style sheet shows the last. */
export const Progress: FC<Looked & { shown: number }> = (progress) => (
  <p class="progress quiet">
    {plural(progress.shown, "record")}. {lookedWords(progress)}
  </p>
);

interface HitsProps {
  hits: readonly Hit[];
  from: number;
  asked: Asked;
  /** The search is for one record, by its moment or as the first of a minute: it is open. */
  isOne: boolean;
  viewer: Viewer;
}

const Hits: FC<HitsProps> = ({ hits, from, asked, isOne, viewer }) => (
  <ol class="records" start={from + 1}>
    {hits.map((hit, i) => {
      const { job_id, object, line, record, also_in } = hit;
      const at = `/jobs/${job_id}/objects/${object}?skip=${line - 1 - ((line - 1) % LINES_PER_PAGE)}#line-${line}`;
      return (
        <li>
          <RecordRow
            id={`hit-${from + i + 1}`}
            record={record}
            isOpen={isOne && from + i === 0}
            links={inSearch(asked)}
            job={may(viewer, "logs:edit") ? job_id : undefined}
          >
            {object === null ? <span class="quiet">{placeWords(hit)}</span> : <a href={at}>{placeWords(hit)}</a>}
            {also_in.length > 0 && <span class="quiet">{alsoInWords(hit)}</span>}
            <Button type="button" class="small" data-close label="Close" />
          </RecordRow>
        </li>
      );
    })}
  </ol>
);

const End: FC<{
  end: Extract<Line, { type: "end" }>;
  asked: Asked;
  sinceMs: number;
  untilMs: number;
  shown: number;
  viewer: Viewer;
}> = ({ end, asked, sinceMs, untilMs, shown, viewer }) => {
  const fixed: Asked = { ...asked, ...exactly(sinceMs, untilMs) };
  return (
    <>
      {shown === 0 && end.cursor === null && (
        <Empty title={NOTHING_FOUND}>
          <p>{visible(nothingWords(asked.outcome, sinceMs, untilMs))}</p>
          <Wider asked={asked} fixed={fixed} sinceMs={sinceMs} untilMs={untilMs} />
        </Empty>
      )}
      <NotSearched left={end.not_searched} />
      <div class="ways" data-end>
        {end.cursor !== null && (
          <Way to="/search" asked={{ ...fixed, cursor: end.cursor }} viewer={viewer} label="More" />
        )}
        <a href={searchPath({ ...fixed, cursor: "" })}>Link to this search</a>
        <a href={livePath(asked)}>Watch live</a>
        <Way
          to="/search/export"
          asked={{ ...fixed, cursor: asked.cursor }}
          viewer={viewer}
          label="Download as NDJSON"
        />
      </div>
    </>
  );
};

export const NotSearched: FC<{ left: readonly Left[] }> = ({ left }) =>
  left.length === 0 ? null : (
    <Notice kind="warn" title={NOT_SEARCHED}>
      <ul>
        {notSearchedLines(left).map((line) => (
          <li>
            <Foreign text={line} max={400} />
          </li>
        ))}
      </ul>
    </Notice>
  );

interface WayProps {
  to: string;
  asked: Asked;
  viewer: Viewer;
  label: string;
  /** Further fields. */
  more?: Readonly<Record<string, string>>;
  /** Of counts, which a script fetches into the page: by itself, or on a click. */
  go?: "auto" | "asked";
}

/** Leads to a search. A cursor may be hundreds of kilobytes. */
export const Way: FC<WayProps> = ({ to, asked, viewer, label, more = {}, go }) => {
  const fields = Object.entries({ ...asked, ...more }).filter(([, value]) => value !== "");
  const path = `${to}?${new URLSearchParams(fields)}`;
  if (path.length <= ADDRESS_MAX)
    return (
      <a href={path} data-go={go}>
        {label}
      </a>
    );
  return (
    <Form viewer={viewer} action={to} go={go}>
      {fields.map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <Button class="small" label={label} />
    </Form>
  );
};

/** Searches that find more: each leaves one condition out, or takes a longer time. */
const Wider: FC<{ asked: Asked; fixed: Asked; sinceMs: number; untilMs: number }> = (props) => {
  const { asked, fixed, sinceMs, untilMs } = props;
  const ways = widerWays(asked, sinceMs, untilMs, Object.hasOwn(LAST, asked.last)).map(
    ({ label, without, last, span }) => {
      if (span !== undefined) return { label, href: searchPath({ ...fixed, ...exactly(...span), cursor: "" }) };
      const part = without === undefined ? { last: last ?? "" } : { [without]: "" };
      return { label, href: searchPath({ ...asked, ...part, cursor: "" }) };
    },
  );
  return (
    <>
      {ways.length > 0 && (
        <p class="ways">
          {SEARCH_AGAIN}{" "}
          {ways.map(({ label, href }) => (
            <a href={href}>{label}</a>
          ))}
        </p>
      )}
      {asked.q !== "" && <p>{FEWER_WORDS}</p>}
    </>
  );
};
