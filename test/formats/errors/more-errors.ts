import { Random } from "../../soak/random.ts";

/** An error as a tail item or a logged error has it, and what it comes from. */
export interface MadeError {
  /** One number for all errors that an engineer would file as one issue, from 0. */
  readonly cause: number;
  readonly worker: string;
  readonly version: string;
  readonly name: string;
  readonly message: string;
  /** Frames alone, without the line of name and message; null: the runtime gave none. */
  readonly stack: string | null;
  readonly kind: "exception" | "logged";
}

interface Bundle {
  readonly file: string;
  readonly minified: boolean;
  /** Versions that were deployed, the oldest first: so many, with such ids. */
  readonly versions: number;
  readonly ids: "uuid" | "commit" | "release";
}

const BUNDLES = {
  "telemetry-ingest": { file: "index.js", minified: false, versions: 3, ids: "uuid" },
  "chat-gateway": { file: "index.js", minified: true, versions: 3, ids: "uuid" },
  "match-lobby": { file: "file:///lobby/dist/index.js", minified: false, versions: 2, ids: "release" },
  "mail-router": { file: "worker.js", minified: false, versions: 3, ids: "uuid" },
  "ci-hooks": { file: "worker.js", minified: true, versions: 2, ids: "commit" },
  tiles: { file: "assets/tiles-*.js", minified: true, versions: 3, ids: "uuid" },
  pulse: { file: "index.js", minified: false, versions: 2, ids: "uuid" },
  "nightly-import": { file: "file:///import/dist/index.js", minified: false, versions: 2, ids: "commit" },
  sso: { file: "worker.js", minified: false, versions: 3, ids: "release" },
  "pdf-press": { file: "assets/press-*.js", minified: true, versions: 2, ids: "uuid" },
} as const satisfies Record<string, Bundle>;

interface Cause {
  readonly worker: keyof typeof BUNDLES;
  readonly name: string;
  readonly message: (draw: Values) => string;
  /**
   * Ways to the throw, the innermost call first, split by ` < `. `f#2` is another line of `f`,
   * `f()` one of the engine's own, `=>f` a function without a name.
   */
  readonly paths: readonly string[];
  /** How often it comes, beside the others. */
  readonly weight: number;
  /** The share that the Worker catches and logs; the rest ends the invocation. */
  readonly logged: number;
  /** The share that has no stack. */
  readonly bare: number;
}

const FEEDS = ["meteo-idf", "gtfs_rt", "velib", "Port de Sète", "crues/v2", "open-agenda", "qualair-69", "sncf"];
const FONTS = ["源ノ角ゴシック", "Noto Serif JP", "游明朝", "M PLUS 1p", "IPAexゴシック"];
const INVALID_URLS = [
  "http://",
  "//",
  "undefined",
  "",
  "https//docs.example/start",
  "http://[::1",
  "https://exa mple.com",
];
const NICKS = ["Zoë", "xX_sniper_Xx", "join_me_plz", "leave2day", "O'Brien", "José 🎯", "2", 'the \\"king\\"', "山田"];
const NO_JSON = ["<!DOCTYPE ", "<html><hea", "\\n<html lan", "<?xml vers", "<h1>502 Ba", "<head><tit"];
const ZONES = ["eu-1", "us-east", "ap-south-1", "sa"];

/** The causes, each with the reason why it is one, and which other looks like it. */
const CAUSES: readonly Cause[] = [
  // One field that some firmware leaves out: whatever came over HTTP or the queue. Another missing
  // field (the next) is another gap of the same function, with a fix of its own.
  {
    worker: "telemetry-ingest",
    name: "TypeError",
    message: () => "Cannot read properties of undefined (reading 'celsius')",
    paths: [
      "decodeFrame#1 < Array.map() < readFrames < async handlePush < async Object.fetch",
      "decodeFrame#1 < readOne < async Object.queue",
    ],
    weight: 8,
    logged: 0,
    bare: 0.05,
  },
  // The pair of the one above: the same function, some lines below.
  {
    worker: "telemetry-ingest",
    name: "TypeError",
    message: () => "Cannot read properties of undefined (reading 'humidity')",
    paths: [
      "decodeFrame#2 < Array.map() < readFrames < async handlePush < async Object.fetch",
      "decodeFrame#2 < readOne < async Object.queue",
    ],
    weight: 3,
    logged: 0,
    bare: 0.05,
  },
  // A redelivered reading is inserted twice: the entry is a value, the table and its key are not.
  {
    worker: "telemetry-ingest",
    name: "Error",
    message: (draw) => `Duplicate entry '${draw.device()}-${draw.time().replace("T", " ")}' for key 'readings.PRIMARY'`,
    paths: ["PromiseConnection.execute < insertRow < async saveReading < async Promise.all < async Object.queue"],
    weight: 10,
    logged: 0.3,
    bare: 0.1,
  },
  // The pair: a device that registers twice, through the same insert. Another table, another issue.
  {
    worker: "telemetry-ingest",
    name: "Error",
    message: (draw) => `Duplicate entry '${draw.device()}' for key 'devices.PRIMARY'`,
    paths: ["PromiseConnection.execute < insertRow < async registerDevice < async handleHello < async Object.fetch"],
    weight: 3,
    logged: 0.3,
    bare: 0.1,
  },
  // The provider's limit of tokens, whatever model or organization: one quota to raise. Logged when
  // a retry is left, thrown at the last.
  {
    worker: "chat-gateway",
    name: "Error",
    message: (draw) => {
      const limit = draw.pick([30_000, 200_000, 450_000, 2_000_000]);
      const wait = draw.pick([
        `${draw.int(8, 999)}ms`,
        `${draw.int(1, 59)}.${draw.int(1, 999)}s`,
        `${draw.int(1, 9)}m0s`,
      ]);
      const more = draw.chance(0.7) ? " Visit https://platform.example/account/rate-limits to learn more." : "";
      return (
        `429 Rate limit reached for ${draw.model()} in organization org-${draw.letters(24)} on tokens per min (TPM): ` +
        `Limit ${limit}, Used ${draw.int(limit / 2, limit)}, Requested ${draw.int(20, 30_000)}. ` +
        `Please try again in ${wait}.${more}`
      );
    },
    paths: [
      "APIError.generate < Client.makeStatusError < Client.makeRequest < async completeChat < async handleChat < async Object.fetch",
      "APIError.generate < Client.makeStatusError < Client.makeRequest < async summarize < async Promise.all < async Object.scheduled",
    ],
    weight: 16,
    logged: 0.7,
    bare: 0.05,
  },
  // A conversation that grew beyond the window: one missing cut, whatever the number of tokens.
  {
    worker: "chat-gateway",
    name: "Error",
    message: (draw) => refused(draw, `prompt is too long: ${draw.int(200_001, 1_400_000)} tokens > 200000 maximum`),
    paths: [
      "APIError.generate#3 < Client.makeStatusError < Client.makeRequest#2 < async streamReply < async handleChat < async Object.fetch",
    ],
    weight: 7,
    logged: 0.5,
    bare: 0.05,
  },
  // The pair: the same refusal around another fault, of how the history is built. The index, the
  // ids and their number are values.
  {
    worker: "chat-gateway",
    name: "Error",
    message: (draw) =>
      refused(
        draw,
        `messages.${draw.int(1, 240)}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
          `${draw.list(1, 5, () => `toolu_01${draw.letters(22)}`).join(", ")}. ` +
          "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
      ),
    paths: [
      "APIError.generate#3 < Client.makeStatusError < Client.makeRequest#2 < async streamReply < async handleChat < async Object.fetch",
    ],
    weight: 4,
    logged: 0.5,
    bare: 0.05,
  },
  // Readers that go away in the middle of an answer, with or without details: one issue, of noise.
  {
    worker: "chat-gateway",
    name: "AbortError",
    message: (draw) => {
      const details = draw.chance(0.4) ? ` (${draw.int(1, 90_000)} bytes, conversation ${draw.uuid()})` : "";
      return `stream aborted after ${draw.int(0, 4_000)} chunks${details}`;
    },
    paths: [
      "AbortSignal.=>onAbort < pumpTokens < async streamReply",
      "pumpTokens#4 < async streamReply < async ReadableStream.pull",
    ],
    weight: 9,
    logged: 1,
    bare: 0.3,
  },
  // A lobby offers matches that do not take players: nick, match and state are values.
  {
    worker: "match-lobby",
    name: "MatchStateError",
    message: (draw) => matchState(draw, "join"),
    paths: [
      "assertOpen < MatchRoom.join < MatchRoom.webSocketMessage",
      "assertOpen < MatchRoom.join < MatchRoom.fetch < async Object.fetch",
    ],
    weight: 9,
    logged: 0.2,
    bare: 0,
  },
  // The pair: another verb, from the same check. A player who cannot leave is stuck: an issue
  // of its own.
  {
    worker: "match-lobby",
    name: "MatchStateError",
    message: (draw) => matchState(draw, "leave"),
    paths: [
      "assertOpen < MatchRoom.leave < MatchRoom.webSocketMessage",
      "assertOpen < MatchRoom.leave < MatchRoom.webSocketClose",
    ],
    weight: 4,
    logged: 0.2,
    bare: 0,
  },
  // A broadcast to sockets that closed while the object hibernated, whichever event it is part of.
  {
    worker: "match-lobby",
    name: "TypeError",
    message: () => "Can't call WebSocket send() after close().",
    paths: [
      "MatchRoom.broadcast < MatchRoom.webSocketMessage",
      "MatchRoom.broadcast < MatchRoom.tick < async MatchRoom.alarm",
      "MatchRoom.broadcast < Array.forEach() < MatchRoom.webSocketClose",
    ],
    weight: 6,
    logged: 0.5,
    bare: 0.05,
  },
  // A message that was given up: its id is all the text. One issue: the line is useless.
  {
    worker: "mail-router",
    name: "Error",
    message: (draw) => `<${draw.messageId()}>`,
    paths: ["giveUp < async deliver < async Object.email", "giveUp < async retryDeferred < async Object.scheduled"],
    weight: 5,
    logged: 0.4,
    bare: 0.2,
  },
  // The client does not follow a cluster that moved its slots: recipient, attempt, slot and node
  // are values, and what comes behind them.
  {
    worker: "mail-router",
    name: "Error",
    message: (draw) => {
      const hint = draw.chance(0.3) ? `, nächster Versuch um ${draw.time().slice(11, 16)} Uhr` : "";
      return (
        `Zustellung an „${draw.email()}“ fehlgeschlagen (Versuch ${draw.int(1, 5)} von 5): ` +
        `MOVED ${draw.int(0, 16_383)} ${draw.address()}:${draw.pick([6379, 6380, 6381])}${hint}`
      );
    },
    paths: ["Cluster.reply < async reserveSlot < async deliver < async Object.email"],
    weight: 6,
    logged: 0.8,
    bare: 0.1,
  },
  // A rule that was deleted and is still referred to. Ids of old rules are numbers.
  {
    worker: "mail-router",
    name: "Error",
    message: (draw) => `not found: ${draw.id()}`,
    paths: ["loadRule < async route < async Object.email", "loadRule < async previewRule < async Object.fetch"],
    weight: 5,
    logged: 0,
    bare: 0,
  },
  // The pair: the same text from another function, of a mailbox. Without a stack they would be one,
  // so all have one.
  {
    worker: "mail-router",
    name: "Error",
    message: (draw) => `not found: ${draw.id()}`,
    paths: ["loadMailbox < async route#2 < async Object.email"],
    weight: 3,
    logged: 0,
    bare: 0,
  },
  // A secret that was changed on one side: delivery and digests are values, and a header that is
  // missing is the same as one that is wrong.
  {
    worker: "ci-hooks",
    name: "Error",
    message: (draw) => {
      const got = draw.chance(0.8) ? `sha256=${draw.hex(64)}` : "undefined";
      const hook = draw.chance(0.5) ? ` (hook ${draw.int(1e5, 9e8)}, repository ${draw.repository()})` : "";
      return `signature mismatch for delivery ${draw.uuid()}: expected sha256=${draw.hex(64)}, got ${got}${hook}`;
    },
    paths: ["verifySignature < async receive < async Object.fetch"],
    weight: 6,
    logged: 0.3,
    bare: 0.05,
  },
  // Repositories that were renamed or made private: one answer names one, or some.
  {
    worker: "ci-hooks",
    name: "GraphqlResponseError",
    message: (draw) =>
      ["Request failed due to following response errors:"]
        .concat(draw.list(1, 6, () => ` - Could not resolve to a Repository with the name '${draw.repository()}'.`))
        .join("\n"),
    paths: [
      "=>request < async loadChecks < async reportStatus < async Object.queue",
      "=>request < async loadChecks < async Promise.all < async nightlySweep < async Object.scheduled",
    ],
    weight: 5,
    logged: 0.5,
    bare: 0.05,
  },
  // A push with very many commits makes a call for each. The same text in another Worker, below, is
  // another issue.
  {
    worker: "ci-hooks",
    name: "Error",
    message: tooManySubrequests,
    paths: ["fetchCommit < async Promise.all < async annotate < async Object.queue"],
    weight: 3,
    logged: 0,
    bare: 0.2,
  },
  // The origin of the tiles fails: its status is all the text, and which one it is says little.
  // Logged where an old tile is at hand.
  {
    worker: "tiles",
    name: "Error",
    message: (draw) => String(draw.pick([500, 502, 502, 502, 503, 504, 520, 521, 522, 524])),
    paths: ["loadOrigin < async readTile < async Object.fetch", "loadOrigin < async warm < async Object.scheduled"],
    weight: 10,
    logged: 0.5,
    bare: 0.1,
  },
  // Tiles were deployed before the renderer that they call. Errors of a call seldom bring a stack.
  {
    worker: "tiles",
    name: "TypeError",
    message: () => 'The RPC receiver does not implement the method "renderTile".',
    paths: ["async drawTile < async Object.fetch"],
    weight: 4,
    logged: 0,
    bare: 0.6,
  },
  // An upload that outlives its lease; the storage's own text stands behind. The file, the part and
  // the upload are values.
  {
    worker: "tiles",
    name: "Error",
    message: (draw) => {
      const file = `${draw.pick(["planet", "europe", "dem/30m"])}/${draw.time().slice(0, 10)}/z${draw.int(0, 16)}.pmtiles`;
      const upload = draw.chance(0.5) ? ` of upload ${draw.letters(draw.int(40, 160))}` : "";
      const why = "uploadPart: The specified multipart upload does not exist. (10024)";
      return `could not store ${file}, part ${draw.int(1, 9_999)}${upload}: ${why}`;
    },
    paths: ["storePart < async buildArchive < async ArchiveBuild.run", "storePart < async resume < async Object.queue"],
    weight: 4,
    logged: 0.6,
    bare: 0.1,
  },
  // One library sends events without a session: whichever and however many of a batch, and whatever
  // stands there instead.
  {
    worker: "pulse",
    name: "ZodError",
    message: (draw) => {
      const issue = (at: number) => ({
        expected: "string",
        code: "invalid_type",
        path: ["events", at, "session_id"],
        message: `Invalid input: expected string, received ${draw.pick(["undefined", "undefined", "null", "number"])}`,
      });
      const wrong = new Set(draw.list(1, 12, () => draw.int(0, 499)));
      return JSON.stringify([...wrong].sort((a, b) => a - b).map(issue), null, 2);
    },
    paths: ["$ZodObject.parse < parseBatch < async Object.queue", "$ZodObject.parse < parseBatch < async Object.fetch"],
    weight: 9,
    logged: 0.5,
    bare: 0.05,
  },
  // Referrers as browsers send them: all that stands behind the colon is what a page wrote.
  {
    worker: "pulse",
    name: "TypeError",
    message: (draw) => {
      const site = `www.${draw.host()}/${draw.word()}?utm_source=${draw.word()}&utm_id=${draw.int(1, 1e6)}`;
      return `Invalid URL: ${draw.chance(0.4) ? draw.pick(INVALID_URLS) : site}`;
    },
    paths: ["new URL() < hostOf < Array.map() < normalize < async Object.queue"],
    weight: 6,
    logged: 0.3,
    bare: 0.1,
  },
  // A source with more pages than one run may ask for. The pair of the one of the other Worker.
  {
    worker: "nightly-import",
    name: "Error",
    message: tooManySubrequests,
    paths: [
      "fetchPage < async readPages < async importFeed < async Object.scheduled",
      "fetchPage < async readPages < async =>step < async FeedImport.run",
    ],
    weight: 4,
    logged: 0,
    bare: 0.2,
  },
  // A source answers with a page of HTML where JSON is due, for whatever reason of its own.
  {
    worker: "nightly-import",
    name: "SyntaxError",
    message: (draw) => `Unexpected token '<', "${draw.pick(NO_JSON)}"... is not valid JSON`,
    paths: [
      "JSON.parse() < fetchJson < async readPages < async importFeed < async Object.scheduled",
      "JSON.parse() < fetchJson < async readCatalogue < async Object.scheduled",
    ],
    weight: 6,
    logged: 0.6,
    bare: 0.05,
  },
  // The sum of a run: the feeds, their number and their own faults are values; one or many feeds
  // make other words, and long lists are cut.
  {
    worker: "nightly-import",
    name: "AggregateError",
    message: (draw) => {
      const count = draw.int(1, 9);
      const fault = () =>
        draw.pick([`HTTP ${draw.pick([403, 500, 503])}`, "ECONNRESET", `délai de ${draw.int(5, 90)} s`]);
      const named = draw
        .list(Math.min(count, 4), Math.min(count, 4), () => `${draw.pick(FEEDS)} (${fault()})`)
        .join(", ");
      const more = count > 4 ? ` et ${count - 4} autres` : "";
      const verb = count === 1 ? "n'a pas pu être importé" : "n'ont pas pu être importés";
      return `${count} flux sur ${draw.int(9, 40)} ${verb} : ${named}${more}`;
    },
    paths: ["summarize < async importAll < async Object.scheduled"],
    weight: 5,
    logged: 0.3,
    bare: 0.1,
  },
  // Applications whose address is not registered: one page of help for all of them.
  {
    worker: "sso",
    name: "OIDCCallbackError",
    message: (draw) =>
      `AADSTS50011: The redirect URI 'https://${draw.host()}/${draw.word()}/callback' specified in the request does not ` +
      `match the redirect URIs configured for the application '${draw.uuid()}'. Trace ID: ${draw.uuid()} ` +
      `Correlation ID: ${draw.uuid()} Timestamp: ${draw.time().replace("T", " ")}Z`,
    paths: ["readCallback < async finishLogin < async Object.fetch"],
    weight: 5,
    logged: 0.8,
    bare: 0.05,
  },
  // Cookies of before a change of keys; the text of the cause is behind the Worker's own. The user
  // and the lengths are values.
  {
    worker: "sso",
    name: "Error",
    message: (draw) => {
      const length = draw.int(3, 60) * 16 + 12;
      return (
        `Sessão de ${draw.email()} inválida há ${draw.int(2, 90)} minutos: OperationError: Decryption failed. This could be ` +
        "due to a ciphertext authentication failure, bad padding, incorrect CryptoKey, or another algorithm-specific " +
        `reason. Input length was ${length}, output length expected to be ${length - 16} for AES-GCM`
      );
    },
    paths: [
      "openSession < async authenticate < async Object.fetch",
      "openSession < async authenticate < async Identity.whoAmI",
    ],
    weight: 6,
    logged: 0.5,
    bare: 0.1,
  },
  // A bare assertion of the table layout: nothing but its place says what failed.
  {
    worker: "pdf-press",
    name: "AssertionError",
    message: () => "",
    paths: [
      "assert < layoutTable < Array.map() < layoutPage < async render < async Object.fetch",
      "assert < layoutTable < layoutTable#2 < layoutPage < async render < async Object.queue",
    ],
    weight: 4,
    logged: 0,
    bare: 0.1,
  },
  // Fonts that are not in the bucket: the font, the document and the page are values, and the
  // status behind them is not always known.
  {
    worker: "pdf-press",
    name: "Error",
    message: (draw) => {
      const status = draw.chance(0.5) ? `: HTTP ${draw.pick([403, 404])}` : "";
      const document = draw.pick([draw.uuid(), `INV-${draw.int(1e4, 1e6)}`, `見積書${draw.int(1, 400)}`]);
      return `フォント「${draw.pick(FONTS)}」を読み込めません(文書 ${document}、${draw.int(1, 320)} ページ)${status}`;
    },
    paths: ["=>loadFont < async embedFonts < async render < async Object.fetch"],
    weight: 5,
    logged: 0.4,
    bare: 0.05,
  },
];

/** How a model's interface refuses a request; older answers have no id. */
function refused(draw: Values, why: string): string {
  const request = draw.chance(0.8) ? { request_id: `req_011C${draw.letters(20)}` } : {};
  const body = { type: "error", error: { type: "invalid_request_error", message: why }, ...request };
  return `400 ${JSON.stringify(body)}`;
}

function matchState(draw: Values, verb: string): string {
  const nick = draw.chance(0.5) ? draw.pick(NICKS) : `${draw.word()}${draw.int(1, 9_999)}`;
  const seats = draw.chance(0.3) ? ` (${draw.int(0, 12)}/12 players, zone ${draw.pick(ZONES)})` : "";
  const state = draw.pick(["ended", "locked", "draining", "in_progress"]);
  return `Player "${nick}" cannot ${verb} match ${draw.uuid()}: state is "${state}"${seats}`;
}

function tooManySubrequests(): string {
  return (
    "Too many subrequests by single Worker invocation. To configure this limit, refer to " +
    "https://developers.cloudflare.com/workers/wrangler/configuration/#limits"
  );
}

const WORDS = ["north", "lumen", "harbor", "quartz", "fern", "delta", "orbit", "maple", "tundra", "cobalt", "sable"];
const DOMAINS = ["example.com", "example.org", "example.net", "mail.example", "beispiel.example", "exemplo.example"];

/** Values of the kinds that stand in messages. */
class Values extends Random {
  #chars(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.int(0, alphabet.length - 1)]).join("");
  }

  list<T>(low: number, high: number, make: () => T): T[] {
    return Array.from({ length: this.int(low, high) }, make);
  }

  hex(length: number): string {
    return this.#chars("0123456789abcdef", length);
  }

  letters(length: number): string {
    return this.#chars("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", length);
  }

  uuid(): string {
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-${this.pick(["8", "9", "a", "b"])}${this.hex(3)}-${this.hex(12)}`;
  }

  /** An id of some kind: a number, a UUID, a sortable id, a short hash, a slug. */
  id(): string {
    const slug = `${this.word()}-${this.word()}-${this.int(1, 99)}`;
    return this.pick([
      String(this.int(1, 5e7)),
      this.uuid(),
      this.#chars("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26),
      this.hex(12),
      slug,
    ]);
  }

  word(): string {
    return this.pick(WORDS);
  }

  host(): string {
    return `${this.word()}${this.chance(0.3) ? this.int(2, 40) : ""}.${this.pick(DOMAINS)}`;
  }

  email(): string {
    const tag = this.chance(0.2) ? `+${this.word()}` : "";
    return `${this.pick(["anna.müller", "j.silva", "info", "noreply", "k-weiß", "o'neill", "bot7"])}${tag}@${this.host()}`;
  }

  messageId(): string {
    const local = [`CAJ${this.letters(38)}`, this.uuid(), `2026${this.int(1e9, 9e9)}.${this.int(1, 9)}.${this.hex(8)}`];
    return `${this.pick(local)}@${this.host()}`;
  }

  address(): string {
    return `10.${this.int(0, 255)}.${this.int(0, 255)}.${this.int(1, 254)}`;
  }

  repository(): string {
    return `${this.word()}-${this.pick(["labs", "org", "io"])}/${this.word()}${this.pick(["", ".js", "-api", "_v2"])}`;
  }

  model(): string {
    return this.pick(["gpt-4o", "gpt-4.1-mini", `gpt-4o-2024-${this.pick(["05-13", "08-06"])}`, "o4-mini", "gpt-5"]);
  }

  device(): string {
    return this.pick([
      `esp32-${this.hex(6)}`,
      this.uuid(),
      `SN${this.int(1e6, 1e7)}X`,
      this.#chars("0123456789ABCDEF", 16),
    ]);
  }

  /** A time of November 2026, to the second. */
  time(): string {
    return new Date(Date.UTC(2026, 10, 1) + this.int(0, 30 * 86_400 - 1) * 1_000).toISOString().slice(0, 19);
  }
}

/** A version of a Worker, as its stacks show it. */
interface Build extends Bundle {
  readonly version: string;
  /** Of the series: another seed places functions elsewhere. */
  readonly seed: string;
  /** Lines that this and earlier versions inserted, and below which line of the first version. */
  readonly inserted: readonly { readonly below: number; readonly lines: number }[];
}

const FILE_LINES = 9_000;

function buildsOf(seed: number, worker: keyof typeof BUNDLES): Build[] {
  const bundle: Bundle = BUNDLES[worker];
  const draw = new Values(hashOf(`${seed} ${worker}`));
  let inserted: Build["inserted"] = [];
  return Array.from({ length: bundle.versions }, (_, i) => {
    if (i > 0) {
      const edits = draw.list(2, 4, () => ({ below: draw.int(0, FILE_LINES), lines: draw.int(1, 60) }));
      inserted = [...inserted, { below: draw.int(0, 30), lines: draw.int(1, 9) }, ...edits];
    }
    const version = {
      uuid: draw.uuid(),
      commit: draw.hex(7),
      release: `${draw.int(1, 3)}.${10 + i}.${draw.int(0, 9)}`,
    };
    const file = bundle.file.replace("*", draw.letters(8));
    return { ...bundle, file, version: version[bundle.ids], seed: `${seed} ${worker}`, inserted };
  });
}

/** FNV-1a, over UTF-16 units, mixed once more. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Receivers of the language itself, which minifiers leave alone. */
const GLOBALS = ["Object", "Array", "Promise", "JSON", "AbortSignal", "ReadableStream"];

/** What a minifier makes of a function or class: mostly another name in each version. */
function shortName(name: string, { seed, version }: Build): string {
  const hash = hashOf(`${seed} ${name}`);
  const own = hash % 4 === 0 ? hash : hashOf(`${seed} ${version} ${name}`);
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$_";
  const at = (i: number) => letters[Math.floor(own / letters.length ** i) % letters.length] ?? "";
  return at(0) + (own % 5 === 0 ? "" : at(1));
}

/** A name as the build has it: methods keep theirs, classes and functions only if not minified. */
function builtName(name: string, build: Build): string {
  if (!build.minified) return name;
  const [first = "", method] = name.split(".");
  if (GLOBALS.includes(first)) return name;
  return method === undefined ? shortName(first, build) : `${shortName(first, build)}.${method}`;
}

/** Line and column of a call in a function, in this build. */
function placeOf(name: string, site: string, build: Build): string {
  const place = hashOf(`${build.seed} ${name}`);
  const within = hashOf(`${build.seed} ${name} ${site}`);
  if (build.minified) {
    const moved = hashOf(`${build.version} ${place % 40}`) % 4_000;
    return `${1 + (place % 40)}:${1 + (place % 30_000) + (within % 300) + moved}`;
  }
  const line = 40 + (place % FILE_LINES) + (within % 30);
  const moved = build.inserted.reduce((sum, { below, lines }) => sum + (line > below ? lines : 0), 0);
  return `${line + moved}:${5 + (within % 70)}`;
}

/** One call of a path as a line of a stack. */
function frameOf(call: string, build: Build, draw: Values): string {
  const [, waiting = "", own = "", site = ""] = /^(async )?(.*?)(?:#(\d+))?$/.exec(call) ?? [];
  if (own === "Promise.all") return `    at async Promise.all (index ${draw.int(0, 40)})`;
  if (own.endsWith("()")) return `    at ${waiting}${own.slice(0, -2)} (<anonymous>)`;
  const place = `${build.file}:${placeOf(own, site, build)}`;
  if (/^(?:\w+\.)?=>/.test(own)) {
    const holder = own.slice(0, own.indexOf("=>"));
    return holder === "" ? `    at ${waiting}${place}` : `    at ${holder}<anonymous> (${place})`;
  }
  return `    at ${waiting}${builtName(own, build)} (${place})`;
}

/** Of each cause, at least one in so many errors. */
const ONE_IN = 200;

/**
 * Errors of thirty causes in ten Workers, as they come over some weeks: newer versions follow older
 * ones. Of every cause there is at least one per 200 errors.
 * @param seed an integer; the same gives the same errors.
 */
export function moreErrors(seed: number, count = 1_000): MadeError[] {
  const draw = new Values(seed);
  const numbered = CAUSES.map((cause, number) => ({ ...cause, number }));
  const least = numbered.flatMap((cause) => Array.from({ length: Math.floor(count / ONE_IN) }, () => cause));
  const rest = Array.from({ length: count - least.length }, () => draw.weighted(numbered));
  const builds = new Map(numbered.map(({ worker }) => [worker, buildsOf(seed, worker)]));

  return draw.shuffled([...least, ...rest]).map((cause, i) => {
    const { worker, name, number } = cause;
    const own = builds.get(worker) ?? [];
    // Deployments take a while, and some are rolled back.
    const newest = Math.floor((i / count + 0.3 * (draw.next() - 0.5)) * own.length);
    const build = own[Math.max(0, Math.min(own.length - 1, newest))] as Build;
    const frames = draw.pick(cause.paths).split(" < ");
    return {
      cause: number,
      worker,
      version: build.version,
      name,
      message: cause.message(draw),
      stack: draw.chance(cause.bare) ? null : frames.map((call) => frameOf(call, build, draw)).join("\n"),
      kind: draw.chance(cause.logged) ? "logged" : "exception",
    };
  });
}
