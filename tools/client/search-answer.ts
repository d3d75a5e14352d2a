/** Answers of `POST /search`, line by line as they come. */
import * as z from "zod";
import { Refusal } from "../command.ts";
import { parseJson } from "./api-client.ts";
import { COUNT_END, GroupsLine } from "./counts.ts";
import type { Service } from "./service.ts";

/** The type of an answer with lines. */
const NDJSON = "application/x-ndjson";

const BROKEN_OFF = "the answer broke off: more may be there";

const Line = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hit"),
    job_id: z.number(),
    object: z.number().nullable(),
    line: z.number(),
    // A service of an earlier release names none.
    also_in: z.array(z.number()).default([]),
    record: z.record(z.string(), z.unknown()),
  }),
  z.object({
    type: z.literal("progress"),
    objects: z.number(),
    read: z.number(),
    skipped: z.number(),
    bytes_read: z.number().default(0),
    sketch_bytes: z.number().default(0),
  }),
  GroupsLine,
  z.object({
    type: z.literal("end"),
    ...COUNT_END,
    cursor: z.string().nullable(),
    not_searched: z.array(
      z.object({
        what: z.string(),
        why: z.string(),
        // … and says it in words alone.
        job: z.number().nullable().default(null),
        objects: z.array(z.number()).optional(),
        manifests: z.array(z.string()).optional(),
      }),
    ),
  }),
]);
export type AnswerLine = z.infer<typeof Line>;
export type Hit = Extract<AnswerLine, { type: "hit" }>;
export type End = Extract<AnswerLine, { type: "end" }>;

/** A query that is none. `at`: where, in UTF-16 units. */
export class QueryFault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/**
 * Asks once. @param told takes the lines before the end. @returns the end.
 * @throws QueryFault, or Refusal: without a page of HTML in it, or if the answer breaks off
 */
export async function answerTo(
  service: Service,
  question: object,
  told: (line: AnswerLine) => void,
  signal: AbortSignal | null = null,
): Promise<End> {
  for await (const line of linesOf(await ask(service, question, signal))) {
    if (line.type === "end") return line;
    told(line);
  }
  throw new Refusal(BROKEN_OFF);
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<AnswerLine> {
  let rest = "";
  const texts = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await texts.read().catch(() => Promise.reject(new Refusal(BROKEN_OFF)));
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield Line.parse(JSON.parse(line));
  }
}

const Faults = z.object({
  errors: z
    .array(
      z.object({
        message: z.string(),
        source: z.object({ pointer: z.string(), at: z.number().optional() }).optional().catch(undefined),
      }),
    )
    .min(1),
});

async function ask(
  { api, token }: Service,
  question: object,
  signal: AbortSignal | null,
): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(`${api}/search`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal,
  }).catch((error: unknown) => {
    const { message, cause } = error as Error;
    throw new Refusal(
      `${api} does not answer: ${cause instanceof Error && cause.message !== "" ? cause.message : message}`,
    );
  });
  if (response.ok && response.body !== null && typeOf(response).startsWith(NDJSON)) return response.body;
  const text = await response.text();
  const said = Faults.safeParse(parseJson(text));
  if (said.success) {
    const { errors } = said.data;
    const message = `HTTP ${response.status}: ${errors.map((each) => each.message).join("; ")}`;
    const at = errors.find(({ source }) => source?.pointer === "/query")?.source?.at;
    throw at === undefined ? new Refusal(message) : new QueryFault(message, at);
  }
  const what = typeOf(response).startsWith("text/html") ? "a page" : text.slice(0, 200);
  throw new Refusal(
    `${api} is not the API of logship, which is at <address>/client/v4/accounts/<account id>/logship: HTTP ${response.status}, ${what}`,
  );
}

function typeOf({ headers }: Response): string {
  return headers.get("content-type") ?? "";
}
