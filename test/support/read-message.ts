import type { MacKey } from "../../src/formats/queue/mac.ts";
import { type Decoded, decodeMessage, linesOf, type Message, type Part } from "../../src/formats/queue/message.ts";

/** A message with its lines as texts, as tests compare it. */
export interface ReadMessage extends Omit<Message, "raw" | "ends"> {
  lines: string[];
}

export function readMessage(body: unknown, keys?: readonly MacKey[]): Decoded<ReadMessage> {
  const decoded = decodeMessage(body, keys);
  if (!decoded.ok) return decoded;
  const { raw, ends: _ends, ...message } = decoded.value;
  return { ok: true, value: { ...message, lines: linesOf({ raw }) } };
}

/** The lines of each part, with their extra fields. */
export function linesOfParts({
  parts,
  lines,
  extras,
}: ReadMessage): { part: Part; lines: string[]; extras?: string[] }[] {
  let to = 0;
  return parts.map((part) => {
    const from = to;
    to += part.records;
    return { part, lines: lines.slice(from, to), ...(extras && { extras: extras.slice(from, to) }) };
  });
}
