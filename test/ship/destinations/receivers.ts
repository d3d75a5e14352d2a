/**
 * One fixture for each kind of receiver, for their contract suite. A new kind is a line in
 * RECEIVERS.
 */
import { DATABASES } from "./database-receivers.ts";
import { HOSTED } from "./hosted-receivers.ts";
import { SECRETS } from "./kinds.ts";
import { asked, marksIn, POISON, type ReceiverFixture, type ReceiverService } from "./receiver-service.ts";

export { asked, marksIn, POISON, type ReceiverFixture, type ReceiverService } from "./receiver-service.ts";

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
  ...HOSTED,
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
