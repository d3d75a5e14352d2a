import { gunzipSync, gzipSync } from "node:zlib";
import { decodeStrict } from "../../../base/bytes.ts";
import { within } from "../../../base/platform.ts";
import { readStream } from "../../../base/streams.ts";
import { whyUnreachable } from "../connection.ts";
import type { Body, FixedObject, NetworkPlatform, OpenDestination, Origin, WriteOutcome } from "../destination.ts";
import type { Failure, FailureCause } from "../failure.ts";
import { retryAfter } from "../retry-after.ts";
import { buildBody, linesOf } from "./body.ts";
import type { BodyForm, Receiver, ReceiverAnswer, ReceiverDestination, Verdict } from "./receiver.ts";
import { testLine } from "./records.ts";
import { bodyOf, headOf, isText, NDJSON_TYPE, noText, partly, type SentBody, tooMuch, unreadable } from "./request.ts";
import { withText } from "./said.ts";

/** Time for an answer, in ms; the slowest upload, in bytes a ms; and the longest time, in ms. */
const ANSWER_MS = 60_000;
const SLOWEST_BYTES_PER_MS = 50;
const LONGEST_MS = 10 * 60_000;
const PROBE_MS = 20_000;
const WHY_MS = 6_000;

/** Bounds of reading an answer. A list of what became of each of 10,000 records is below 2 MiB. */
const ANSWER_MAX_BYTES = 2_097_152;
const ANSWER_BODY_MS = 15_000;

/**
 * Of a body that is built for each attempt and kept by nothing: half of the time of the default
 * level, for a seventh more bytes at most. docs/costs.md
 */
const GZIP_LEVEL = 3;

const NOT_READABLE = "a log service cannot be read back";

/** A receiver, opened. What it takes, it cannot show: nothing is ever `verified`. */
export function openReceiver(
  destination: ReceiverDestination,
  receiver: Receiver,
  platform: NetworkPlatform,
): OpenDestination {
  const sender = new Sender(destination, receiver, platform);
  return {
    write: (object, body) => write(object, body, sender),
    stands: async () => "unknown",
    overwrite: async () => ({ kind: "misconfigured", words: NOT_READABLE, cause: "configuration" }),
    read: async () => ({
      ok: false,
      why: "refused",
      words: NOT_READABLE,
      retryAfterS: null,
      cause: "configuration",
    }),
    probe: () => probe(sender),
    remark: async () => receiver.asksBack?.remark(await sender.ask(receiver.asksBack)) ?? null,
    challenge: async () => NOT_READABLE,
  };
}

async function write(object: FixedObject, body: () => Uint8Array | Body, sender: Sender): Promise<WriteOutcome> {
  const { receiver } = sender;
  if (!isText(object.contentType)) return noText(object.contentType, receiver);
  const id = idOf(object.key);
  const form = sender.form === null ? null : withFirstIds(sender.form, id, object.origin ?? []);
  const unsent = tooMuch(object, receiver, form);
  if (unsent !== null) return unsent;
  if (form === null) {
    const verdict = await sender.send(id, body(), object.bytes, object.contentType, object.records);
    return outcomeOf(verdict, object, sender, (entry) => entry);
  }
  const built = await packedBody(body(), id, form, sender);
  if (built.kind !== "packed") return built;
  const { records } = built;
  const verdict = await sender.sendPacked(id, built);
  return outcomeOf(verdict, object, sender, (entry) => records[entry]);
}

/** A body as it is sent. `records` as of a body that is not compressed. */
interface Packed {
  kind: "packed";
  bytes: Uint8Array<ArrayBuffer>;
  records: readonly number[];
}

/**
 * A function of its own, so that nothing but its result is held while a request is under way: lines
 * and text are ten times as large.
 */
async function packedBody(
  body: Uint8Array | Body,
  id: string,
  form: BodyForm,
  { receiver, nowMs }: Sender,
): Promise<Packed | WriteOutcome> {
  const lines = await contentLines(body);
  const built = lines === null ? unreadable(receiver) : bodyOf(lines, id, receiver, form, nowMs());
  return built.kind === "body" ? packed(built) : built;
}

function packed({ text, records }: Pick<SentBody, "text" | "records">): Packed {
  return { kind: "packed", bytes: new Uint8Array(gzipSync(text, { level: GZIP_LEVEL })), records };
}

/**
 * What a verdict means for an object. A body that is refused as a whole goes on as halves, until
 * the record is found that it was refused for. Where a probe is refused as well, no record is to
 * blame, nor where each of them is refused by itself.
 */
async function outcomeOf(
  verdict: Verdict,
  object: FixedObject,
  sender: Sender,
  recordOf: (entry: number) => number | undefined,
): Promise<WriteOutcome> {
  switch (verdict.kind) {
    case "taken":
      return { kind: "delivered", verified: false };
    case "partly": {
      const refused = verdict.refused.flatMap(({ entry, words }) => {
        const record = recordOf(entry);
        return record === undefined ? [] : [{ record, words }];
      });
      const again = verdict.again.flatMap((entry) => recordOf(entry) ?? []);
      if (refused.length > 0 && refused.length >= object.records) {
        const error = await refusesAll(sender);
        if (error !== null) return { kind: "failed", error, mayBeThere: false };
      }
      const { kind: _kind, refused: _refused, ...rest } = verdict;
      return { ...rest, kind: "partly", isSent: true, again, refused };
    }
    case "failed": {
      const { error, mayBeThere } = verdict;
      if (error.kind !== "refused") return { kind: "failed", error, mayBeThere };
      const found = await refusesAll(sender);
      if (found !== null) return { kind: "failed", error: found, mayBeThere };
      const named = verdict.entry === undefined ? undefined : recordOf(verdict.entry);
      if (named !== undefined && object.records > 1) {
        const again = Array.from({ length: object.records }, (_, record) => record).filter(
          (record) => record !== named,
        );
        const refused = [{ record: named, words: error.words }];
        return partly({ isSent: true, refused, again, mayBeThere: true, ...saidIn(error) });
      }
      if (object.records < 2) return { kind: "failed", error, mayBeThere };
      const half = {
        records: Math.ceil(object.records / 2),
        bytes: object.rawBytes,
        why: error.words,
        ...saidIn(error),
      };
      // What it has, it has once, however often it is sent.
      return { kind: "divide", ...half, mayBeThere: mayBeThere && sender.receiver.tellsRepeats !== true };
    }
  }
}

function saidIn({ said }: Failure): { said?: string } {
  return said === undefined ? {} : { said };
}

/** What a receiver answers to a test record, where that is a refusal too; null: it takes it. */
async function refusesAll(sender: Sender): Promise<Failure | null> {
  const probed = await sender.probe();
  if (probed.kind === "taken") return null;
  const said = probed.error;
  if (said !== null && said.kind !== "refused") return said;
  const words = wordsOf(probed);
  return { kind: "misconfigured", words, cause: said?.cause ?? causeIn(words) };
}

/** What a refusal counts as: its status, where its words name one. */
function causeIn(words: string): FailureCause {
  const [, status] = /^HTTP (\d{3})\b/.exec(words) ?? [];
  return status === undefined ? "not_kept" : Number(status);
}

/** Why a test record was not taken. */
function wordsOf(verdict: Exclude<Verdict, { kind: "taken" }>): string {
  if (verdict.kind === "failed") return verdict.error.words;
  return verdict.refused[0]?.words ?? verdict.unnamed?.words ?? verdict.error?.words ?? "it was not taken";
}

/** The id of an object in every attempt: the end of its key, without what kind of file it is. */
function idOf(key: string): string {
  const name = key.slice(key.lastIndexOf("/") + 1);
  return name.replace(/(?:\.[a-z]+)*$/, "");
}

/** Records of an object that another one was divided into keep the ids that they had first. */
function withFirstIds(form: BodyForm, id: string, origin: Origin): BodyForm {
  if (origin.length === 0) return form;
  const ids = origin.flatMap(([name, from, count]) =>
    Array.from({ length: count }, (_, n) => `${idOf(name)}-${from + n}`),
  );
  return { ...form, entry: (record, own) => form.entry(record, ids[Number(own.slice(id.length + 1))] ?? own) };
}

/** null: it is no gzip of text. */
async function contentLines(body: Uint8Array | Body): Promise<string[] | null> {
  const packed = body instanceof Uint8Array ? body : new Uint8Array(await new Response(body).arrayBuffer());
  try {
    return linesOf(decodeStrict(gunzipSync(packed)));
  } catch {
    return null;
  }
}

async function probe(sender: Sender): Promise<string | null> {
  const verdict = await sender.probe();
  if (verdict.kind === "taken") return null;
  if (verdict.kind === "partly") return `error sending a test record: ${wordsOf(verdict)}`;
  const { words, cause } = verdict.error;
  const why = cause === "connection_failed" ? await sender.whyUnreachable() : null;
  return `error sending a test record: ${why === null ? words : `connection failed: ${why}`}`;
}

/** Sends bodies to one receiver. It never follows a redirect, and never sends one twice. */
class Sender {
  readonly receiver: Receiver;
  readonly form: BodyForm | null;
  readonly #destination: ReceiverDestination;
  readonly #platform: NetworkPlatform;

  constructor(destination: ReceiverDestination, receiver: Receiver, platform: NetworkPlatform) {
    this.receiver = receiver;
    this.#destination = destination;
    this.#platform = platform;
    this.form = receiver.form?.(destination.credentials.options) ?? null;
  }

  readonly nowMs = (): number => this.#platform.now();

  /** Sends the record that shows whether records can be sent. */
  async probe(): Promise<Verdict> {
    const { probe = { line: testLine(this.nowMs()) } } = this.receiver;
    const id = `test-${this.nowMs().toString(16)}`;
    let text: string;
    if ("body" in probe) text = probe.body;
    else if (this.form === null) text = `${probe.line}\n`;
    else {
      const built = buildBody([probe.line], id, this.form, this.receiver.name, this.nowMs());
      if (built.kind !== "body") throw new Error("a test record does not fit a body");
      text = built.text;
    }
    return within(PROBE_MS, this.sendPacked(id, packed({ text, records: [0] })), lost("timeout"));
  }

  async whyUnreachable(): Promise<string | null> {
    return within(WHY_MS, whyUnreachable(this.#destination.endpoint, this.#platform), null);
  }

  /** One request with a body that was built. */
  async sendPacked(id: string, { bytes, records }: Packed): Promise<Verdict> {
    return this.send(id, bytes, bytes.length, this.form?.contentType ?? NDJSON_TYPE, records.length);
  }

  /** One request. @param packed gzip. @param count of the entries in it. Never throws. */
  async send(id: string, packed: Uint8Array | Body, bytes: number, type: string, count: number): Promise<Verdict> {
    const { url, headers } = headOf(this.#destination.credentials, this.receiver, id, type);
    const timeoutMs = Math.min(ANSWER_MS + bytes / SLOWEST_BYTES_PER_MS, LONGEST_MS);
    try {
      const answer = await this.#request(url, headers, packed, bytes, timeoutMs);
      return withText(this.receiver.judge(answer, count), answer.text, this.#destination.credentials.options);
    } catch (error) {
      // Only the kind of failure is kept: the text may hold the URL, and whatever is in that.
      return lost(error instanceof Error && error.name === "TimeoutError" ? "timeout" : "connection_failed");
    }
  }

  /** A question, in the parameters of a request with an empty line. null: no answer. */
  async ask({ query }: NonNullable<Receiver["asksBack"]>): Promise<ReceiverAnswer | null> {
    const { credentials } = this.#destination;
    const receiver = { ...this.receiver, request: () => ({ query: query(credentials.options) }) };
    const { url, headers } = headOf(credentials, receiver, `test-${this.nowMs().toString(16)}`, NDJSON_TYPE);
    const line = new Uint8Array(gzipSync("\n"));
    return within(
      WHY_MS,
      this.#request(url, headers, line, line.length, WHY_MS).catch(() => null),
      null,
    );
  }

  /** @throws if there is no answer in time. */
  async #request(
    url: string,
    headers: Headers,
    body: Uint8Array | Body,
    bytes: number,
    timeoutMs: number,
  ): Promise<ReceiverAnswer> {
    headers.set("content-length", `${bytes}`);
    // Not `AbortSignal.timeout`: its timer cannot be cleared, and keeps a durable object awake.
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DOMException("too slow", "TimeoutError")), Math.round(timeoutMs));
    try {
      const init = { method: "POST", headers, body, redirect: "manual", signal: deadline.signal } as const;
      return await this.#answer(await this.#platform.fetch(url, init));
    } finally {
      clearTimeout(timer);
    }
  }

  async #answer({ status, headers, body }: Response): Promise<ReceiverAnswer> {
    const { bytes, end } = await readStream(body, { maxBytes: ANSWER_MAX_BYTES, ms: ANSWER_BODY_MS });
    const text = new TextDecoder().decode(bytes);
    const atMs = this.#platform.now();
    const retryAfterS = retryAfter(headers.get("retry-after"), atMs);
    return { status, headers, bytes, text, isWhole: end === "whole", retryAfterS, atMs };
  }
}

function lost(cause: "timeout" | "connection_failed"): Extract<Verdict, { kind: "failed" }> {
  const words = cause === "timeout" ? "no answer in time" : "connection failed";
  const error: Failure = { kind: "unreachable", words, cause };
  return { kind: "failed", error, mayBeThere: true };
}
