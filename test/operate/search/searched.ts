import { exports } from "cloudflare:workers";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";

export interface HitLine {
  type: "hit";
  job_id: number;
  object: number | null;
  line: number;
  also_in: number[];
  record: { [name: string]: unknown };
}

export interface ProgressLine {
  type: "progress";
  objects: number;
  read: number;
  skipped: number;
  copies: number;
  bytes_read: number;
  sketch_bytes: number;
  records: number;
  reached: string | null;
}

export interface EndLine {
  type: "end";
  complete: boolean;
  cursor: string | null;
  not_searched: { what: string; why: string }[];
}

export interface SearchAnswer {
  status: number;
  type: string | null;
  hits: HitLine[];
  progress: ProgressLine[];
  end: EndLine;
}

/** An answer of `POST /search`, read to its end. @throws unless it is whole. */
export async function searchFor(question: object, token = ADMIN_TOKEN): Promise<SearchAnswer> {
  const response = await exports.default.fetch(`http://logship.test/client/v4/accounts/${ACCOUNT}/logship/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(question),
  });
  return readAnswer(response);
}

/** @throws unless it is whole. */
export async function readAnswer(response: Response): Promise<SearchAnswer> {
  const text = new TextDecoder().decode(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as HitLine | ProgressLine | EndLine);
  const end = lines.at(-1);
  if (end?.type !== "end") throw new Error(`the answer ends with ${JSON.stringify(end)}`);
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    hits: lines.filter((line) => line.type === "hit"),
    progress: lines.filter((line) => line.type === "progress"),
    end,
  };
}

/** All pages of a search. */
export async function searchAll(question: object, pagesMax = 200): Promise<SearchAnswer[]> {
  const pages: SearchAnswer[] = [];
  for (let cursor: string | null = null; pages.length < pagesMax; ) {
    const page = await searchFor({ ...question, ...(cursor !== null && { cursor }) });
    pages.push(page);
    cursor = page.end.cursor;
    if (cursor === null) return pages;
  }
  throw new Error("the search has no end");
}
