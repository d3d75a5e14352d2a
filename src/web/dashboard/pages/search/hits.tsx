import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { count, plural, stamp } from "../../../../base/words.ts";
import { quoted } from "../../../../formats/query/show.ts";
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
import { Bars } from "../../parts/chart.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Button, Form } from "../../parts/form.tsx";
import { Empty, Notice, State } from "../../parts/panel.tsx";
import { RecordDetails } from "../../parts/record-details.tsx";
import { summaryOf, tookWords } from "../../parts/record-summary.ts";
import type { Viewer } from "../../session.ts";
import { type Asked, exactly, livePath, narrowed, questionOf, searchPath } from "./address.ts";
import { Refused } from "./question.tsx";

/** Hits of one page. */
const HITS_SHOWN = 100;

/**
 * Of a search and a value that are longer together, in characters, there are no links: each of the
 * thousands on a page repeats both.
 */
const LINK_MAX = 1_000;

/** A longer address, in characters, is sent as a form: browsers and servers take some 8,000. */
const ADDRESS_MAX = 4_000;

const LINES_PER_PAGE = 50;

type Json = Record<string, unknown>;

type Line =
  | { type: "hit"; job_id: number; object: number | null; line: number; also_in: number[]; record: Json }
  | ({ type: "progress" } & Looked)
  | { type: "end"; complete: boolean; cursor: string | null; not_searched: Left[] };
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
    yield (
      <Notice kind="warn" title="Time not recognised">
        <p>
          <Foreign text={error.message} max={100} /> is not a time or time zone. Write it as yesterday 15:00, 11-20
          15:00, fri 3pm, 2026-11-20 15:00:30 +01:00, or 2h ago.
        </p>
      </Notice>
    );
    return;
  }
  const response = await api.raw("POST", "/logship/search", { ...question, limit: HITS_SHOWN });
  if (!response.ok || response.body === null) {
    const { errors } = (await response.json()) as { errors: ErrorEntry[] };
    const phrase = searchPath({ ...asked, q: quoted(asked.q), cursor: "" });
    yield <Refused title={REFUSED} errors={errors} query={asked.q} phrase={phrase} />;
    return;
  }
  yield raw(
    '<section class="panel hits" id="hits" aria-labelledby="hits-title"><h2 id="hits-title">Records</h2>' +
      '<button type="button" class="small" data-halt>Stop</button>',
  );
  const [sinceMs, untilMs] = [Date.parse(question.since), Date.parse(question.until)];
  const times: number[] = [];
  let shown = 0;
  for await (const lines of linesOf(response.body)) {
    const hits = lines.filter((line) => line.type === "hit");
    const progress = lines.findLast((line) => line.type === "progress");
    const end = lines.find((line) => line.type === "end");
    if (hits.length > 0) yield <Hits hits={hits} from={shown} asked={asked} isOne={untilMs - sinceMs <= 1} />;
    shown += hits.length;
    for (const { record } of hits) if (typeof record.EventTimestampMs === "number") times.push(record.EventTimestampMs);
    if (progress !== undefined) yield <Progress {...progress} shown={shown} />;
    if (end === undefined) continue;
    if (times.length > 0 && untilMs - sinceMs >= BUCKETS) yield <Histogram {...{ times, sinceMs, untilMs, asked }} />;
    yield <End {...{ end, asked, sinceMs, untilMs, shown, viewer }} />;
  }
  yield raw("</section>");
}

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
const Progress: FC<Extract<Line, { type: "progress" }> & { shown: number }> = (progress) => (
  <p class="progress quiet">
    {plural(progress.shown, "record")}. {lookedWords(progress)}
  </p>
);

interface HitsProps {
  hits: readonly Hit[];
  from: number;
  asked: Asked;
  /** The search is for one moment, thus for one record: it is open. */
  isOne: boolean;
}

const Hits: FC<HitsProps> = ({ hits, from, asked, isOne }) => (
  <ol class="records" start={from + 1}>
    {hits.map((hit, i) => (
      <li>
        <HitRow hit={hit} id={`hit-${from + i + 1}`} asked={asked} isOpen={isOne && from + i === 0} />
      </li>
    ))}
  </ol>
);

const HitRow: FC<{ hit: Hit; id: string; asked: Asked; isOpen: boolean }> = ({ hit, id, asked, isOpen }) => {
  const { record } = hit;
  const { atMs, outcome, kind, script, event, line, lineKind, more } = summaryOf(record);
  return (
    <details class="hit" name="hit" id={id} open={isOpen}>
      <summary>
        <span class="hit-time">{atMs !== null && stamp(atMs, 1).slice(5)}</span>
        <State kind={kind}>
          <Foreign text={outcome} max={40} />
        </State>
        <strong>
          <Foreign text={script} max={60} />
        </strong>
        <span class="quiet figures">{tookWords(record)}</span>
        <span class="mono">
          <Foreign text={event} max={200} />
        </span>
        <span class={lineKind === "quiet" ? "quiet" : `state ${lineKind}`}>
          <Foreign text={line} max={200} />
          {more > 0 && ` +${more}`}
        </span>
      </summary>
      <RecordDetails
        id={id}
        record={record}
        links={(condition) =>
          asked.q.length + asked.filter.length + `${condition.value}`.length > LINK_MAX
            ? null
            : {
                is: searchPath(narrowed(asked, condition, false)),
                isNot: searchPath(narrowed(asked, condition, true)),
              }
        }
      >
        <Ways hit={hit} atMs={atMs} />
      </RecordDetails>
    </details>
  );
};

/** Where a record leads to. */
const Ways: FC<{ hit: Hit; atMs: number | null }> = ({ hit, atMs }) => {
  const { job_id, object, line, record } = hit;
  const around = (ms: number) => exactly((atMs ?? 0) - ms, (atMs ?? 0) + ms);
  const { RayID: ray } = (record.Event ?? {}) as { RayID?: unknown };
  const { ScriptName: script } = record;
  return (
    <p class="ways">
      {object === null ? (
        <span class="quiet">{placeWords(hit)}</span>
      ) : (
        <a href={`/jobs/${job_id}/objects/${object}?skip=${line - 1 - ((line - 1) % LINES_PER_PAGE)}#line-${line}`}>
          {placeWords(hit)}
        </a>
      )}
      {hit.also_in.length > 0 && <span class="quiet">{alsoInWords(hit)}</span>}
      {atMs !== null && typeof ray === "string" && ray !== "" && (
        <a href={searchPath({ q: `ray:${quoted(ray)}`, ...around(300_000), order: "oldest" })}>
          Same request in other Workers
        </a>
      )}
      {atMs !== null && typeof script === "string" && (
        <a href={searchPath({ function: script, ...around(60_000), order: "oldest" })}>Before and after</a>
      )}
      <Button type="button" class="small" data-close label="Close" />
    </p>
  );
};

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
      {end.not_searched.length > 0 && (
        <Notice kind="warn" title={NOT_SEARCHED}>
          <ul>
            {notSearchedLines(end.not_searched).map((line) => (
              <li>
                <Foreign text={line} max={400} />
              </li>
            ))}
          </ul>
        </Notice>
      )}
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

/** Leads to a search. A cursor may be hundreds of kilobytes. */
const Way: FC<{ to: string; asked: Asked; viewer: Viewer; label: string }> = ({ to, asked, viewer, label }) => {
  const path = searchPath(asked).replace("/search?", `${to}?`);
  if (path.length <= ADDRESS_MAX) return <a href={path}>{label}</a>;
  return (
    <Form viewer={viewer} action={to}>
      {Object.entries(asked).map(([name, value]) => (
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

const BUCKETS = 40;

interface HistogramProps {
  times: readonly number[];
  sinceMs: number;
  untilMs: number;
  asked: Asked;
}

/** Each bar leads to the same search in its time. */
const Histogram: FC<HistogramProps> = ({ times, sinceMs, untilMs, asked }) => {
  const width = (untilMs - sinceMs) / BUCKETS;
  const values = Array.from({ length: BUCKETS }, () => 0);
  for (const time of times) {
    const at = Math.min(BUCKETS - 1, Math.max(0, Math.floor((time - sinceMs) / width)));
    values[at] = (values[at] ?? 0) + 1;
  }
  const buckets = values.map((value, i) => {
    const [from, to] = [i, i + 1].map((n) => Math.ceil(sinceMs + n * width)) as [number, number];
    const label = stamp(from, width);
    const href = value === 0 ? undefined : searchPath({ ...asked, ...exactly(from, to), cursor: "" });
    return { label, short: label.slice(5), href };
  });
  return (
    <Bars
      id="over-time"
      title="Records over time"
      sentence={`${plural(times.length, "record")} shown, from ${stamp(sinceMs, 60_000)} to ${stamp(untilMs, 60_000)} UTC.`}
      buckets={buckets}
      series={[{ name: "Records", tone: "bar", values }]}
      format={count}
    />
  );
};
