import { exports } from "cloudflare:workers";
import type { Facet } from "../../../src/operate/search/count/facets.ts";
import type { Rest, Row } from "../../../src/operate/search/count/groups.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import type { EndLine, ProgressLine } from "./searched.ts";

export interface CountAnswer {
  rows: Row[];
  facets?: Facet[];
  progress: ProgressLine[];
  end: EndLine & { other: Rest | null; overflow: boolean };
}

/** An answer of `POST /search` with `count`, as {@link readCount}. */
export async function countOf(question: object): Promise<CountAnswer> {
  const response = await exports.default.fetch(`http://logship.test/client/v4/accounts/${ACCOUNT}/logship/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(question),
  });
  return readCount(response);
}

/** @throws unless it is whole. */
export async function readCount(response: Response): Promise<CountAnswer> {
  const text = new TextDecoder().decode(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const end = lines.at(-1);
  const groups = lines.findLast(({ type }) => type === "groups");
  if (end.type !== "end" || groups === undefined) throw new Error(`the answer ends with ${JSON.stringify(end)}`);
  return { rows: groups.rows, facets: groups.facets, progress: lines.filter(({ type }) => type === "progress"), end };
}
