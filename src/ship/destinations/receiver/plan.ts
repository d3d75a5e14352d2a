import { utf8Length } from "../../../base/bytes.ts";
import type { Plan, PlannedObject } from "../destination.ts";
import type { Receiver, ReceiverDestination } from "./receiver.ts";
import { bodyOf, headOf, type SentBody, tooMuch } from "./request.ts";

/**
 * The requests that the records of an object would make, by the code that sends them. Where there
 * are several, their ids end with the number of their first record. Pure.
 */
export function planOf(
  credentials: ReceiverDestination["credentials"],
  receiver: Receiver,
  { id, lines, text: whole, contentType }: PlannedObject,
  nowMs: number,
): Plan {
  const form = receiver.form?.(credentials.options) ?? null;
  const plan: Plan = { requests: [], refused: [] };
  const all = lines.map((text, record) => ({ text, record, bytes: utf8Length(text) + 1 }));
  type Line = (typeof all)[number];
  const open = cut(all, receiver.takes.limits ?? ANY);
  for (let part = open.shift(); part !== undefined; part = open.shift()) {
    const isWhole = part.length === all.length;
    const own = isWhole ? id : `${id}-${part[0]?.record}`;
    const size = { records: part.length, rawBytes: part.reduce((sum, { bytes }) => sum + bytes, 0) };
    const texts = part.map(({ text }) => text);
    const asIs = (): SentBody => ({
      kind: "body",
      text: isWhole ? whole : texts.map((text) => `${text}\n`).join(""),
      records: [...part.keys()],
    });
    const built = tooMuch(size, receiver, form) ?? (form === null ? asIs() : bodyOf(texts, own, receiver, form, nowMs));
    switch (built.kind) {
      case "body": {
        const { url, headers } = headOf(credentials, receiver, own, form?.contentType ?? contentType);
        plan.requests.push({ url, headers: Object.fromEntries(headers), text: built.text, records: part.length });
        break;
      }
      case "divide": {
        const parts = cut(part, built);
        if (parts.length > 1) open.unshift(...parts);
        else plan.refused.push(...part.map(({ record }) => ({ record, words: "too much for one request" })));
        break;
      }
      case "partly": {
        const of = (numbers: readonly number[]): Line[] => numbers.flatMap((number) => part[number] ?? []);
        for (const { record, words } of built.refused)
          plan.refused.push(...of([record]).map((line) => ({ record: line.record, words })));
        const again = of(built.again);
        if (again.length > 0) open.unshift(again);
        break;
      }
      case "failed":
        plan.refused.push(...part.map(({ record }) => ({ record, words: built.error.words })));
        break;
      default:
        throw new Error(`a preview of what is ${built.kind}`);
    }
  }
  return plan;
}

const ANY = { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** Parts of at most so many records and bytes, as src/ship/reader/divide.ts makes them. */
function cut<T extends { bytes: number }>(lines: readonly T[], most: { records: number; bytes: number }): T[][] {
  const parts: T[][] = [];
  let part: T[] = [];
  let bytes = 0;
  for (const line of lines) {
    if (part.length > 0 && (part.length >= most.records || bytes + line.bytes > most.bytes)) {
      parts.push(part);
      [part, bytes] = [[], 0];
    }
    part.push(line);
    bytes += line.bytes;
  }
  return part.length > 0 ? [...parts, part] : parts;
}
