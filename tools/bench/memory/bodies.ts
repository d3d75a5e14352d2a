/** Bodies of events that take most memory for their size. */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { EVENT_MAX_BYTES, EVENTS_BODY_MAX_BYTES, EVENTS_MAX_COUNT } from "../../../src/base/limits.ts";

export interface Body {
  bytes: Uint8Array<ArrayBuffer>;
  isPacked: boolean;
  /** What it is answered with. */
  status: number;
}

const plain = (text: string, status = 202): Body => ({
  bytes: new Uint8Array(Buffer.from(text)),
  isPacked: false,
  status,
});

const gzipped = (raw: Uint8Array, status = 413): Body => ({
  bytes: new Uint8Array(gzipSync(raw)),
  isPacked: true,
  status,
});

/** As many of one event as a body may hold. */
function full(event: string, most = EVENTS_MAX_COUNT): string {
  const count = Math.min(Math.floor((EVENTS_BODY_MAX_BYTES - 2) / (event.length + 1)), most);
  return `[${Array(count).fill(event).join()}]`;
}

const repeated = (what: string, bytes: number): string =>
  Array(Math.floor(bytes / (what.length + 1)))
    .fill(what)
    .join();

const keys = (bytes: number): string =>
  Array.from({ length: Math.floor(bytes / 13) }, (_, i) => `{"${i.toString(36).padStart(6, "_")}":0}`).join();

const noise = (bytes: number): string => Buffer.from(randomBytes(Math.floor((bytes * 3) / 4))).toString("base64");

const ROOM = EVENT_MAX_BYTES - 64;

/** By what they are: first those that are taken. */
export const BODIES = {
  "16 MiB of noise": () => plain(full(`{"Outcome":"${noise(ROOM)}"}`)),
  "16 MiB of small events": () => plain(full(`{"Outcome":"${noise(800)}"}`)),
  "16 MiB of empty objects": () => plain(full(`{"Event":{"a":[${repeated("{}", ROOM)}]}}`)),
  "16 MiB of quotes": () => plain(full(`{"event":null,"logs":[{"message":[[${repeated('""', ROOM)}]]}]}`)),
  "16 MiB of objects with a key of their own": () => plain(full(`{"Event":{"a":[${keys(ROOM)}]}}`)),
  "7 MiB of numbers that are written out": () => plain(full(`{"Event":{"a":[${repeated("1e20", ROOM)}]}}`, 7)),
  "one event of 155,000 empty logs": () => plain(`{"event":null,"logs":[${repeated("{}", 3 * 155_000)}]}`),
  "16 kB of gzip that holds 5.5 million {}": () => gzipped(Buffer.from(`[${"{},".repeat(5_500_000)}{}]`)),
  "1 MB of gzip that holds 1 GB": () => gzipped(Buffer.alloc(1_000_000_000, " ")),
  "one event of 16 MiB": () => plain(`{"Event":{"a":[${"{},".repeat(5_500_000)}{}]}}`, 400),
  "16 MiB of logs that are none": () => plain(full(`{"event":null,"logs":[${repeated("0", ROOM)}]}`), 400),
} as const satisfies { readonly [what: string]: () => Body };

export type BodyName = keyof typeof BODIES;
