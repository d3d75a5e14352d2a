/** docs/answers.md is what the code makes of documented answers; `npm run answers` writes it. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type AzureDestination, blobStore } from "../../../src/ship/destinations/azure/blob-store.ts";
import { BucketStore } from "../../../src/ship/destinations/binding/bucket-store.ts";
import { type GoogleDestination, googleStore } from "../../../src/ship/destinations/gs/google-store.ts";
import { KINDS } from "../../../src/ship/destinations/kinds.ts";
import { parseDestination } from "../../../src/ship/destinations/parse.ts";
import type { Receiver, Verdict } from "../../../src/ship/destinations/receiver/receiver.ts";
import { remedyFor } from "../../../src/ship/destinations/remedies.ts";
import { objectStore, type S3Destination } from "../../../src/ship/destinations/s3/object-store.ts";
import {
  answerWords,
  classify,
  isSuccess,
  isThere,
  mayMeanHeader,
} from "../../../src/ship/destinations/store/answers.ts";
import type { StoreAnswer, StoreClient } from "../../../src/ship/destinations/store/client.ts";
import { confirms } from "../../../src/ship/destinations/store/stored.ts";
import { PRODUCTION } from "./context.ts";
import {
  type AnswersOf,
  BINDING,
  type DocumentedAnswer,
  OBJECT,
  RECEIVERS,
  SENT,
  STORES,
} from "./documented-answers.ts";
import { receiverAnswer } from "./receiver-answer.ts";

const md5 = createHash("md5").update(OBJECT).digest("hex");
const base64 = Buffer.from(md5, "hex").toString("base64");
const PUT = {
  ...{ key: "key", body: OBJECT, bytes: OBJECT.length, contentType: "application/x-ndjson", conditional: true, md5 },
  sha256: createHash("sha256").update(OBJECT).digest("hex"),
};

/** What follows from the verdict on a request, in words of the page. */
function meaningOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case "taken":
      return "delivered";
    case "partly": {
      const { again, refused, unnamed, mayBeThere } = verdict;
      const parts = [
        refused.length > 0 && `${refused.length} on hold`,
        again.length > 0 && `${again.length} retried${mayBeThere === true ? ", in doubt" : ""}`,
        unnamed !== null && `all on hold, ${unnamed.records} refused`,
      ].filter((part) => part !== false);
      return unnamed === null ? `${parts.join(", ")}, others delivered` : parts.join(", ");
    }
    case "failed": {
      const { error, mayBeThere, entry } = verdict;
      if (error.cause === "not_kept") return "**unclear**";
      const doubt = mayBeThere ? ", in doubt" : "";
      if (error.kind === "refused")
        return entry === undefined ? `refused${doubt}` : `record ${entry} on hold, others retried`;
      return `${error.kind === "busy" ? "retried" : "paused"}${doubt}`;
    }
  }
}

function wordsOf(verdict: Verdict): string {
  if (verdict.kind === "taken") return "";
  if (verdict.kind === "failed") return verdict.error.words;
  return verdict.refused[0]?.words ?? verdict.unnamed?.words ?? verdict.error?.words ?? "";
}

/** The same of the answer to a PUT. */
function meaningOfStore(answer: StoreAnswer): string {
  if (confirms(answer, { md5 })) return "delivered";
  if (isSuccess(answer) || isThere(answer)) return "checked";
  const error = classify(answer);
  const header = mayMeanHeader(answer) ? "headers tried; " : "";
  if (error?.kind === "refused") return `${header}refused`;
  return error?.kind === "misconfigured" ? `${header}paused` : "retried";
}

/** An item of a bulk request that was taken. */
const ITEM = '{"create":{"status":201}}';

const code = (text: string): string => (text === "" ? "nothing" : `\`${text.replaceAll("|", "\\|")}\``);
const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

function shown({ body, headers = {} }: DocumentedAnswer): string {
  const named = Object.entries(headers).filter(([name]) => !/^content-type$|exception-code$/.test(name));
  const said = named.map(([name, value]) => `\`${name}: ${value.replace(md5, "<MD5>").replace(base64, "<MD5>")}\``);
  const text = typeof body === "string" ? code(body.replaceAll(ITEM, "…")) : `protobuf \`${hex(body)}\``;
  return `${[...said, ...(said.length > 0 && body === "" ? [] : [text])].join("<br>")}`;
}

const section = (name: string, rows: readonly string[]): string =>
  [`## ${name}\n`, "| answer | body | verdict |", "| --- | --- | --- |", ...rows].join("\n");

/** The verdict and its error, without statuses, unless the body has it. */
function verdictOf(meaning: string, words: string, body: string): string {
  const error = words.replace(/^HTTP \d+(?: |$)/, "");
  return body.includes(error) ? meaning : `${meaning}: ${error}`;
}

const row = (
  { sources }: Pick<AnswersOf, "sources">,
  answer: DocumentedAnswer,
  meaning: string,
  words: string,
): string => {
  const { status, source } = answer;
  const body = shown(answer);
  return `| [${status}](${sources[source]}) | ${body} | ${verdictOf(meaning, words, body)} |`;
};

/** The rest is in the table of all. */
const isTold = ({ status, body, headers = {} }: DocumentedAnswer): boolean =>
  status < 300 || body !== "" || Object.keys(headers).length > 0;

const judged = (receiver: Receiver, answer: DocumentedAnswer): Verdict => receiver.judge(receiverAnswer(answer), SENT);

/** Of every receiver, unless its own table says otherwise. */
function byStatus(): string {
  const statuses = [301, 307, 400, 401, 403, 404, 408, 409, 413, 415, 422, 425, 429, 500, 502, 503, 504];
  const { receiver } = RECEIVERS.Datadog as { receiver: Receiver };
  const groups = Map.groupBy(statuses, (status) => meaningOf(judged(receiver, { status, body: "", source: 0 })));
  const rows = [...groups].map(([meaning, all]) => `| ${all.join(", ")} | ${meaning} |`);
  return ["| status | verdict |", "| --- | --- |", ...rows, "| other 2xx | **unclear** |"].join("\n");
}

/** @param fetch what the network answers. */
function clientOf(conf: string, fetch: () => Promise<Response>): StoreClient {
  const parsed = parseDestination(conf, PRODUCTION);
  if (!parsed.ok) throw new Error(parsed.why);
  const platform = { sleep: async () => {}, now: () => 0, fetch };
  const [scheme] = conf.split(":");
  if (scheme === "azure") return blobStore(parsed.value as AzureDestination, platform);
  if (scheme === "gs") return googleStore(parsed.value as GoogleDestination, platform);
  return objectStore(parsed.value as S3Destination, platform);
}

async function storeRows(store: (typeof STORES)[string]): Promise<string[]> {
  const { conf, answers } = store;
  return Promise.all(
    answers.map(async (given) => {
      const { status, body, headers = {} } = given;
      const answer = await clientOf(conf, async () => new Response(body || null, { status, headers })).put(PUT);
      return row(store, given, meaningOfStore(answer), isSuccess(answer) ? "" : answerWords(answer));
    }),
  );
}

async function bindingRows(): Promise<string[]> {
  return Promise.all(
    BINDING.thrown.map(async (number) => {
      const put = async () => {
        if (number !== null) throw new Error(`put: … (${number})`);
        return null;
      };
      const answer = await new BucketStore({ put } as unknown as R2Bucket).put(PUT);
      const what = number === null ? "`null`" : `throws \`(${number})\``;
      const source = BINDING.sources[number === null ? 0 : 1];
      return `| [${what}](${source}) | | ${meaningOfStore(answer)}: ${answerWords(answer)} |`;
    }),
  );
}

const INTRODUCTION = `# What does each answer of a destination mean?

A row is an answer that the vendor documents (the status links there), to a request with three
records; \`…\` is an item that was taken. After the verdict stands the error that you will see,
without \`HTTP <status>\`, unless the body has it. \`npm run answers\` makes this page from the code;
a test compares them.

| verdict | what follows |
| --- | --- |
| delivered | the records count as delivered |
| **unclear** | no documented success, or a body that broke off: retried, in doubt |
| retried | after \`Retry-After\`, or 5 s to 15 min; *in doubt*: the repeat counts in \`resent_in_doubt\` |
| refused | halves are sent, and what is refused alone goes [on hold](recovery.md). A store's object goes on hold whole, if the store takes a test object; otherwise, delivery is paused |
| paused | delivery waits, keeps everything, and retries every few minutes |
| headers tried | the object is sent without a header that the store [may not know](delivery.md#what-a-refusal-means) |
| checked | HEAD, or reading the object, [decides](delivery.md#what-proves-an-object) |

## Every receiver

Where its own table has no row:`;

async function page(): Promise<string> {
  const receivers = Object.entries(RECEIVERS).map(([name, each]) =>
    section(
      name,
      each.answers.filter(isTold).map((answer) => {
        const verdict = judged(each.receiver, answer);
        return row(each, answer, meaningOf(verdict), wordsOf(verdict));
      }),
    ),
  );
  const stores = await Promise.all(
    Object.entries(STORES).map(async ([name, each]) => section(name, await storeRows(each))),
  );
  const binding = section("An R2 bucket that is bound", await bindingRows());
  return `${[INTRODUCTION, byStatus(), ...receivers, ...stores, binding].join("\n\n")}\n`;
}

it("the page is what the code makes of the answers", async () => {
  await expect(await page()).toMatchFileSnapshot("../../../docs/answers.md");
});

it("has every kind of destination", () => {
  const documented = [...Object.values(RECEIVERS), ...Object.values(STORES), BINDING].flatMap(({ schemes }) => schemes);
  expect(new Set(documented)).toEqual(new Set(KINDS.flatMap(({ schemes }) => schemes)));
});

describe.each(Object.entries(RECEIVERS))("%s", (_name, { receiver, answers }) => {
  it("has a documented answer that is a success, and advice on all others", () => {
    const verdicts = answers.map((answer) => judged(receiver, answer));
    expect(verdicts[0]).toEqual({ kind: "taken" });
    for (const verdict of verdicts)
      if (verdict.kind === "failed") expect(remedyFor(verdict.error.words)).toMatch(/\.$/);
  });

  it("has no success where the body broke off, or the status is another one", () => {
    for (const answer of answers) {
      if (receiver.scheme === "https" && receiver.name === "this address") continue;
      const whole = receiverAnswer(answer);
      if (receiver.judge(whole, SENT).kind !== "taken") continue;
      expect(receiver.judge({ ...whole, isWhole: answer.status === 204 }, SENT).kind).toBe(
        answer.status === 204 ? "taken" : "failed",
      );
      for (const status of [203, 206, 207, 226, 299])
        expect(receiver.judge({ ...whole, status }, SENT)).toMatchObject({ kind: "failed", mayBeThere: true });
    }
  });
});
