/**
 * One fixture for each kind of receiver, for their contract suite. A new kind is a line in
 * RECEIVERS.
 */
import { gunzipSync } from "node:zlib";
import { DATABASES } from "./database-receivers.ts";
import { SECRETS } from "./kinds.ts";

/**
 * What a receiver has taken, in memory. It is strict: what its service would not take, it refuses.
 */
export interface ReceiverService {
  /**
   * Answers as its service does. Of a record whose text has {@link POISON} it says that it is bad.
   */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /**
   * The marks of the records that it stored, in order; of a service that tells repeats: once each.
   */
  taken(): string[];
}

export interface ReceiverFixture {
  /** Its secrets are {@link SECRETS}, or one of them. */
  conf: string;
  service(): ReceiverService;
  /** It tells a record that it has from one that it has not. */
  tellsRepeats: boolean;
  /**
   * A record that it takes for itself alone never exceeds this, in bytes of NDJSON; null: none is
   * too long.
   */
  recordBytes: number | null;
  /** Statuses below 500 after which it may have taken some of a body. */
  partialAt?: readonly number[];
}

/** The value of `Logs[0].Message[0]`: what a test knows a record by. */
export const MARK = /"mark-[0-9a-z-]+"/g;
/** Stands in the text of a record that a receiver refuses. */
export const POISON = "poison";

export interface Asked {
  url: URL;
  headers: Headers;
  /** The body, inflated. */
  text: string;
}

/** What was sent. @throws if it is no gzip of UTF-8, or its length is not what its head says. */
export async function asked(url: string, { headers, body }: RequestInit): Promise<Asked> {
  const packed = new Uint8Array(await new Response(body).arrayBuffer());
  const given = new Headers(headers);
  if (given.get("content-encoding") !== "gzip") throw new Error("the body is no gzip");
  if (given.get("content-length") !== `${packed.length}`) throw new Error("the length is another one");
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(gunzipSync(packed));
  return { url: new URL(url), headers: given, text };
}

/** Also of records that are texts in JSON. */
export function marksIn(text: string): string[] {
  return (text.replaceAll('\\"', '"').match(MARK) ?? []).map((mark) => mark.slice(1, -1));
}

const json = (body: unknown, status = 200): Response => Response.json(body, { status });

function anyAddress(): ReceiverService {
  const taken: string[] = [];
  return {
    taken: () => taken,
    fetch: async (url, init) => {
      const { text } = await asked(url, init);
      if (text.includes(POISON)) return new Response("no", { status: 400 });
      taken.push(...marksIn(text));
      return new Response(null, { status: 204 });
    },
  };
}

function bulk(): ReceiverService {
  const byId = new Map<string, string[]>();
  return {
    taken: () => [...byId.values()].flat(),
    fetch: async (url, init) => {
      const { url: at, text } = await asked(url, init);
      if (at.pathname !== "/traces/_bulk" || !text.endsWith("\n")) return json({ error: { type: "parse" } }, 400);
      const lines = text.slice(0, -1).split("\n");
      const items = [];
      for (let i = 0; i < lines.length; i += 2) {
        const { create } = JSON.parse(lines[i] as string);
        const source = lines[i + 1] as string;
        if (typeof JSON.parse(source)["@timestamp"] !== "string") return json({ error: { type: "no_time" } }, 400);
        if (source.includes(POISON)) {
          items.push({ create: { status: 400, error: { type: "document_parsing_exception", reason: source } } });
        } else if (byId.has(create._id)) {
          items.push({ create: { status: 409, error: { type: "version_conflict_engine_exception" } } });
        } else {
          byId.set(create._id, marksIn(source));
          items.push({ create: { status: 201 } });
        }
      }
      return json({ errors: items.some(({ create }) => create.status !== 201), items });
    },
  };
}

export const RECEIVERS: { readonly [name: string]: ReceiverFixture } = {
  ...DATABASES,
  https: {
    conf: `https://logs.example/in?header_Authorization=Bearer%20${SECRETS[0]}&team=a&x-token=${SECRETS[1]}`,
    service: anyAddress,
    tellsRepeats: false,
    recordBytes: null,
  },
  elastic: {
    conf: `elastic://es.example:9243/traces?header_Authorization=ApiKey%20${SECRETS[0]}`,
    service: bulk,
    tellsRepeats: true,
    recordBytes: null,
  },
};
