/**
 * Errors as the Workers of a made-up company throw and log them, each with the cause it has. A
 * cause is what an engineer would file as one issue; the comment above each says why it is one, or
 * why it is not the one beside it.
 */
import { Random } from "../../soak/random.ts";
import { type Build, chars, className, FRAMES_KEPT, hex, stackIn, uuid, type Worker, workerOf } from "./third-code.ts";

export interface ThirdError {
  /** Index of the cause in THIRD_CAUSES. */
  readonly cause: number;
  readonly worker: string;
  readonly version: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  readonly kind: "exception" | "logged";
}

interface Cause {
  /** What the issue would be called. */
  readonly title: string;
  readonly worker: Worker;
  /** How often it comes, beside the others: a few causes make most errors. */
  readonly weight: number;
  /** `both`: one handler logs what another lets through. */
  readonly kind: ThirdError["kind"] | "both";
  readonly name: string | ((build: Build) => string);
  readonly message: (random: Random) => string;
  /** Name in the head of the stack, if `name` was set after the stack was taken. */
  readonly header?: string;
  /** The frames that every error of the cause has, innermost first. */
  readonly frames: readonly string[] | ((random: Random) => readonly string[]);
  /** The ways to these frames, one of which each error took. */
  readonly ways: readonly (readonly string[])[];
  /** Frames kept, if a library joined two stacks. */
  readonly framesKept?: number;
  /** Share of errors without a stack. */
  readonly bare?: number;
}

const CRM = workerOf("crm-api", "bundled", 3);
const INVOICING = workerOf("invoicing", "minified", 3, "worker.js");
const FILES = workerOf("file-share", "mapped", 2);
const VIDEO = workerOf("video-pipeline", "bundled", 2);
const SEARCH = workerOf("search", "minified", 3);
const FLAGS = workerOf("flags", "minified", 2, "worker.js");
const AUTH = workerOf("edge-auth", "mapped", 2);
const IMAGES = workerOf("image-transform", "bundled", 2);
const WEBHOOKS = workerOf("webhooks-out", "modules", 2);
const EXPORT = workerOf("data-export", "minified", 3);

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const WORDS = ["invoice", "north", "q3", "offer", "logo", "draft", "team", "board", "final", "scan"] as const;
const COMPANIES = ["brightleaf", "kolibri", "ostsee-logistik", "nakamura", "pelican", "vantaa-steel"] as const;
const FLAG_NAMES = ["checkout-v2", "new-nav", "ai-summary", "eu-billing", "dark-mode", "bulk-edit-3"] as const;
const TABLES = ["contacts", "deals", "invoices", "files", "notes", "activities", "users"] as const;

const ulid = (random: Random): string => `01K${chars(random, CROCKFORD, 23)}`;
const base62 = (random: Random, length: number): string => chars(random, BASE62, length);
const workspaceId = (random: Random): number => random.int(1_000, 99_999);
const day = (random: Random): string => `2026-${pad(random.int(1, 12))}-${pad(random.int(1, 28))}`;
const pad = (number: number, width = 2): string => String(number).padStart(width, "0");

function isoTime(random: Random): string {
  const time = [random.int(0, 23), random.int(0, 59), random.int(0, 59)].map((part) => pad(part)).join(":");
  return `${day(random)}T${time}.${pad(random.int(0, 999), 3)}Z`;
}

function hookUrl(random: Random): string {
  const path = random.pick(["/hooks/crm", "/api/v2/events", "/in", `/w/${base62(random, 12)}`]);
  const query = random.chance(0.3) ? `?token=${hex(random, 16)}` : "";
  return `https://hooks.${random.pick(COMPANIES)}.example${path}${query}`;
}

const listOf = (random: Random, low: number, high: number, item: (index: number) => string): string[] =>
  Array.from({ length: random.int(low, high) }, (_, i) => item(i));

/** Between the handler of a route and the Worker's `fetch`. */
const HONO = [
  "async cors2 | node_modules/hono/dist/middleware/cors/index.js",
  "async * | node_modules/hono/dist/hono-base.js",
  "async Object.fetch | src/index.ts",
];

/** mysql2 under Kysely: the error is made as its packet comes, so without a caller. */
const MYSQL = [
  "Packet.asError | node_modules/mysql2/lib/packets/packet.js",
  "Query.execute | node_modules/mysql2/lib/commands/command.js",
  "Connection.handlePacket | node_modules/mysql2/lib/base/connection.js",
  "PacketParser.onPacket | node_modules/mysql2/lib/base/connection.js",
  "PacketParser.executeStart | node_modules/mysql2/lib/packet_parser.js",
  "CloudflareSocket.emit | node-internal:events",
  // Kysely appends its own stack.
  "async MysqlDriverConnection.executeQuery | node_modules/kysely/dist/esm/dialect/mysql/mysql-driver.js",
  "async Repository.insert | src/db/repository.ts",
];

const duplicateEntry = (random: Random, key: string): string =>
  `Duplicate entry '${workspaceId(random)}-2026-${pad(random.int(1, 99_999), 5)}' for key '${key}'`;

/** The helper that throws is in its stack: only its error's constructor is left out. */
const DEAL_FRAMES = [
  "fail | src/lib/errors.ts",
  "assertStage | src/deals/stages.ts",
  "async DealService.transition | src/deals/service.ts",
];

function dealMessage(random: Random, verb: string): string {
  const stage = random.pick(["won", "lost", "on hold"]);
  return `Cannot ${verb} deal D-${random.int(10_000, 999_999)}: it is in stage "${stage}" of pipeline ${random.int(1, 40)}`;
}

/** Segments that hold each other: the stack overflows at any of the three. */
const RECURSION = [
  "matches | src/segments/match.ts",
  "* | src/segments/match.ts",
  "Array.some | <anonymous>",
  "anyOf | src/segments/match.ts",
];

/** What a request for an import holds wrong. */
const ZOD_ISSUES: readonly ((random: Random) => object)[] = [
  (random) => ({
    expected: "string",
    code: "invalid_type",
    path: ["rows", random.int(0, 4_999), "email"],
    message: "Invalid input: expected string, received undefined",
  }),
  (random) => ({
    origin: "string",
    code: "invalid_format",
    format: "email",
    path: ["rows", random.int(0, 4_999), "email"],
    message: "Invalid email address",
  }),
  (random) => ({
    origin: "string",
    code: "too_big",
    maximum: 200,
    inclusive: true,
    path: ["rows", random.int(0, 4_999), random.pick(["name", "title", "company"])],
    message: "Too big: expected string to have <=200 characters",
  }),
  (random) => ({
    code: "unrecognized_keys",
    keys: listOf(random, 1, 3, () => random.pick(["fax", "twitter", "lead_score", "x_id"])),
    path: ["rows", random.int(0, 4_999)],
    message: "Unrecognized key",
  }),
];

const tableFailure = (random: Random): string => {
  const table = random.pick(TABLES);
  return random.pick([
    `${table}: timed out after ${random.pick([15, 30, 60])}000 ms`,
    `${table}: row ${random.int(1, 900_000)} has no column "${random.pick(["phone", "owner_id", "vat"])}"`,
    `${table}: part ${random.int(1, 80)} is larger than 5 MiB (${random.int(5_300_000, 9_900_000)} bytes)`,
  ]);
};

/** The parser quotes the first ten characters of what is no JSON: pages of proxies. */
const htmlIsNoJson = (random: Random): string =>
  `Unexpected token '<', "${random.pick(["<!DOCTYPE ", "<html>\r\n<h", "<html><hea"])}"... is not valid JSON`;

export const THIRD_CAUSES: readonly Cause[] = [
  // 0. One issue: two imports race for the same contact. Reached from the API and from a queue.
  {
    title: "D1: contact inserted twice",
    worker: CRM,
    weight: 40,
    kind: "both",
    name: "Error",
    message: () => "D1_ERROR: UNIQUE constraint failed: contacts.workspace_id, contacts.email: SQLITE_CONSTRAINT",
    frames: [
      "D1DatabaseSessionAlwaysPrimary._sendOrThrow | cloudflare-internal:d1-api",
      "async D1PreparedStatement.run | cloudflare-internal:d1-api",
      "async ContactStore.insert | src/contacts/store.ts",
    ],
    ways: [
      ["async ContactService.create | src/contacts/service.ts", "async postContact | src/routes/contacts.ts", ...HONO],
      ["async Promise.all | index 3", "async importChunk | src/imports/chunk.ts", "async Object.queue | src/index.ts"],
    ],
  },
  // 1. Hard pair with 2, another verb: the same check throws both, from the same callers. Archiving
  // a won deal is a rule to lift, and reopening one is a button to hide: two teams, two issues.
  {
    title: "deal in a stage that cannot be archived",
    worker: CRM,
    weight: 4,
    kind: "exception",
    name: "DealStateError",
    message: (random) => dealMessage(random, "archive"),
    frames: DEAL_FRAMES,
    ways: [["async patchDeal | src/routes/deals.ts", ...HONO]],
  },
  // 2. The other of the pair.
  {
    title: "deal in a stage that cannot be reopened",
    worker: CRM,
    weight: 2,
    kind: "exception",
    name: "DealStateError",
    message: (random) => dealMessage(random, "reopen"),
    frames: DEAL_FRAMES,
    ways: [["async patchDeal | src/routes/deals.ts", ...HONO]],
  },
  // 3. Structure varies: Zod's message is the list of all issues. One issue: this endpoint answers
  // 500 to a bad import instead of 400, whatever is bad in it.
  {
    title: "Zod: an import's rows are not valid",
    worker: CRM,
    weight: 20,
    kind: "logged",
    name: "ZodError",
    message: (random) =>
      JSON.stringify(
        Array.from({ length: random.int(1, 5) }, () => random.pick(ZOD_ISSUES)(random)),
        null,
        2,
      ),
    // Zod leaves its own frames out with Error.captureStackTrace.
    frames: ["parseImport | src/imports/schema.ts", "async postImport | src/routes/imports.ts"],
    ways: [HONO],
  },
  // 4. One issue: the nightly sync is too fast for HubSpot's limit. The body says which request.
  {
    title: "HubSpot: 429 during the sync",
    worker: CRM,
    weight: 6,
    kind: "logged",
    name: "Error",
    message: (random) => {
      const body = {
        status: "error",
        message: "You have reached your secondly limit.",
        errorType: "RATE_LIMIT",
        correlationId: uuid(random),
        policyName: "SECONDLY",
        requestId: uuid(random),
      };
      const headers = {
        "cf-ray": `${hex(random, 16)}-${random.pick(["FRA", "CDG", "IAD", "NRT"])}`,
        "content-type": "application/json;charset=utf-8",
        date: isoTime(random),
        "x-hubspot-ratelimit-secondly": "19",
        "x-hubspot-ratelimit-secondly-remaining": String(random.int(0, 2)),
      };
      return `HTTP-Code: 429\nMessage: An error occurred.\nBody: ${JSON.stringify(body)}\nHeaders: ${JSON.stringify(headers)}`;
    },
    frames: [
      "SearchApiResponseProcessor.doSearchWithHttpInfo | node_modules/@hubspot/api-client/lib/codegen/crm/contacts/apis/SearchApi.js",
      "async * | node_modules/@hubspot/api-client/lib/codegen/crm/contacts/types/PromiseAPI.js",
      "async HubspotSync.page | src/sync/hubspot.ts",
    ],
    ways: [["async HubspotSync.run | src/sync/hubspot.ts", "async Object.scheduled | src/index.ts"]],
  },
  // 5. Hard pair with 6, another constraint: the value is in the same quotes as the constraint, and
  // most frames are the same. Numbers of invoices are dealt twice; that is a bug of the counter.
  {
    title: "MySQL: number of an invoice used twice",
    worker: INVOICING,
    weight: 6,
    kind: "exception",
    name: "Error",
    message: (random) => duplicateEntry(random, "invoices.uq_invoices_number"),
    frames: MYSQL,
    ways: [["async InvoiceService.issue | src/invoices/service.ts", "async postInvoice | src/routes.ts", ...HONO]],
    framesKept: 14,
  },
  // 6. The other of the pair: a payment is booked again when Stripe repeats its webhook.
  {
    title: "MySQL: payment booked twice",
    worker: INVOICING,
    weight: 4,
    kind: "exception",
    name: "Error",
    message: (random) => duplicateEntry(random, "payments.uq_payments_receipt"),
    frames: MYSQL,
    ways: [["async PaymentService.book | src/payments/service.ts", "async postStripe | src/routes.ts", ...HONO]],
    framesKept: 14,
  },
  // 7. One issue: customers were deleted at Stripe, and the Worker still has their ids.
  {
    title: "Stripe: no such customer",
    worker: INVOICING,
    weight: 4,
    kind: "logged",
    name: "StripeInvalidRequestError",
    header: "Error",
    message: (random) => `No such customer: 'cus_${base62(random, 14)}'`,
    frames: [
      "StripeError.generate | node_modules/stripe/esm/Error.js",
      "* | node_modules/stripe/esm/RequestSender.js",
      "async StripeGateway.charge | src/payments/stripe.ts",
    ],
    ways: [
      ["async collect | src/payments/collect.ts", "async Object.scheduled | src/index.ts"],
      ["async retryCharge | src/payments/collect.ts", "async Object.queue | src/index.ts"],
    ],
    bare: 0.04,
  },
  // 8. German. One issue: the tax office declines the advance return; its code is a detail.
  {
    title: "ELSTER: Voranmeldung abgelehnt",
    worker: INVOICING,
    weight: 1,
    kind: "logged",
    name: "ElsterFehler",
    message: (random) =>
      `Übermittlung der Umsatzsteuer-Voranmeldung ${pad(random.int(1, 12))}/2026 für Steuernummer ${random.int(100, 299)}/${random.int(100, 999)}/${random.int(10_000, 99_999)} abgelehnt: Fehlercode ${random.int(610_001_000, 610_501_299)}`,
    frames: ["Elster.senden | src/steuer/elster.ts", "async voranmeldung | src/steuer/voranmeldung.ts"],
    ways: [["async Object.scheduled | src/index.ts"]],
  },
  // 9. Hard pair with 10, another throwing function: the virus scanner's proxy answers with a page.
  // Always with a stack: nothing else tells the two apart.
  {
    title: "virus scanner answers with HTML",
    worker: FILES,
    weight: 6,
    kind: "exception",
    name: "SyntaxError",
    message: htmlIsNoJson,
    frames: ["async VirusScanner.verdict | src/scan/scanner.ts"],
    ways: [["async afterUpload | src/uploads/after.ts", "async Object.queue | src/index.ts"]],
    bare: 0,
  },
  // 10. The other of the pair: another service, run by another team.
  {
    title: "preview service answers with HTML",
    worker: FILES,
    weight: 4,
    kind: "exception",
    name: "SyntaxError",
    message: htmlIsNoJson,
    frames: ["async PreviewClient.info | src/previews/client.ts"],
    ways: [["async afterUpload | src/uploads/after.ts", "async Object.queue | src/index.ts"]],
    bare: 0,
  },
  // 11. One issue: uploads that took longer than R2 keeps them.
  {
    title: "R2: part of an upload that is gone",
    worker: FILES,
    weight: 2,
    kind: "exception",
    name: "Error",
    message: () => "uploadPart: The specified multipart upload does not exist. (10024)",
    frames: ["async MultipartUpload.put | src/uploads/multipart.ts", "async putPart | src/routes/uploads.ts"],
    ways: [HONO],
  },
  // 12. One issue, though buckets and roles are many: the set-up page asks for too few permissions.
  {
    title: "AWS: role may not read the bucket",
    worker: FILES,
    weight: 4,
    kind: "logged",
    name: "AccessDenied",
    message: (random) => {
      const account = random.int(100_000_000_000, 999_999_999_999);
      const bucket = `${random.pick(COMPANIES)}-${random.pick(["archive", "media", "share"])}`;
      const key = listOf(random, 1, 3, () => random.pick(WORDS)).join("/");
      return `User: arn:aws:sts::${account}:assumed-role/${random.pick(COMPANIES)}-import/session-${hex(random, 8)} is not authorized to perform: s3:GetObject on resource: "arn:aws:s3:::${bucket}/${key}-${random.int(1, 900)}.pdf" because no identity-based policy allows the s3:GetObject action`;
    },
    frames: [
      "throwDefaultError | node_modules/@smithy/smithy-client/dist-es/default-error-handler.js",
      "* | node_modules/@smithy/smithy-client/dist-es/default-error-handler.js",
      "de_CommandError | node_modules/@aws-sdk/client-s3/dist-es/protocols/Aws_restXml.js",
      "async * | node_modules/@smithy/middleware-serde/dist-es/deserializerMiddleware.js",
      "async * | node_modules/@aws-sdk/middleware-sdk-s3/dist-es/region-redirect-middleware.js",
      "async * | node_modules/@smithy/middleware-retry/dist-es/retryMiddleware.js",
      "async copyFromBucket | src/imports/s3.ts",
    ],
    ways: [["async Object.queue | src/index.ts"]],
    bare: 0.03,
  },
  // 13. One issue: the step's limit is too short for long videos; the limit depends on the plan.
  {
    title: "Workflows: transcoding takes too long",
    worker: VIDEO,
    weight: 4,
    kind: "exception",
    name: "WorkflowTimeoutError",
    message: (random) => `Execution timed out after ${random.pick([600, 900, 1_800])}000ms`,
    frames: ["async TranscodeWorkflow.renditions | src/transcode/workflow.ts"],
    ways: [["async TranscodeWorkflow.run | src/transcode/workflow.ts"]],
    bare: 0.1,
  },
  // 14. Japanese. One issue: the model of Workers AI has no capacity for captions.
  {
    title: "Workers AI: no captions",
    worker: VIDEO,
    weight: 2,
    kind: "logged",
    name: "CaptionError",
    // Its class has a field `name`, set after the stack was taken.
    header: "Error",
    message: (random) =>
      `動画 ${random.int(1_000, 99_999)} の字幕を生成できませんでした（言語: ${random.pick(["ja", "en", "ko", "zh-TW"])}、長さ: ${random.int(12, 5_400)} 秒）: 3040: Capacity temporarily exceeded, please try again.`,
    frames: ["captionError | src/captions/errors.ts", "async Captioner.transcribe | src/captions/captioner.ts"],
    ways: [
      ["async CaptionWorkflow.run | src/captions/workflow.ts"],
      ["async recaption | src/captions/admin.ts", ...HONO],
    ],
  },
  // 15. One issue: indexes were not built again when the model of embeddings changed.
  {
    title: "Vectorize: dimensions differ",
    worker: SEARCH,
    weight: 6,
    kind: "exception",
    name: "Error",
    message: (random) => {
      const [index, query] = random.pick([
        [768, 1024],
        [1536, 1024],
        [384, 1024],
      ]);
      return `VECTOR_QUERY_ERROR (code = 40006): invalid query vector, expected ${index} dimensions, and got ${query} dimensions`;
    },
    frames: [
      "VectorizeIndexImpl._send | cloudflare-internal:vectorize-api",
      "async VectorizeIndexImpl.query | cloudflare-internal:vectorize-api",
      "async SemanticSearch.nearest | src/semantic.ts",
    ],
    ways: [
      ["async Promise.all | index 1", "async searchAll | src/search.ts", ...HONO],
      ["async similar | src/similar.ts", ...HONO],
    ],
  },
  // 16. One issue: hits without highlights. Nearly no name survives minifying.
  {
    title: "hit without highlights",
    worker: SEARCH,
    weight: 40,
    kind: "exception",
    name: "TypeError",
    message: () => "Cannot read properties of undefined (reading 'highlights')",
    frames: [
      "toSnippet | src/snippets.ts",
      "* | src/hits.ts",
      "Array.map | <anonymous>",
      "toHits | src/hits.ts",
      "async searchAll | src/search.ts",
    ],
    ways: [HONO],
  },
  // 17. One issue, though its name is another in each version: the class is minified, and takes its
  // name from `new.target.name`.
  {
    title: "shard of the index is behind",
    worker: SEARCH,
    weight: 4,
    kind: "logged",
    name: (build) => className("StaleShardError", build),
    header: "Error",
    message: (random) =>
      `index shard ${random.int(0, 63)} of workspace ${workspaceId(random)} is ${random.int(61, 4_000)} s behind (at most 60 s)`,
    frames: ["ShardReader.check | src/shards.ts", "async ShardReader.open | src/shards.ts"],
    ways: [
      ["async searchAll | src/search.ts", ...HONO],
      ["async warmUp | src/warm-up.ts", "async Object.scheduled | src/index.ts"],
    ],
  },
  // 18. Hard pair with 21, another Worker: flags are all in one key, which is written too often.
  {
    title: "KV: flags written too often",
    worker: FLAGS,
    weight: 12,
    kind: "exception",
    name: "Error",
    message: () => "KV PUT failed: 429 Too Many Requests",
    frames: ["async FlagStore.save | src/store.ts"],
    ways: [["async putFlag | src/routes.ts", ...HONO]],
  },
  // 19. One issue: the editor rounds weights. `invariant` leaves itself out of the stack.
  {
    title: "weights of a rollout do not add up",
    worker: FLAGS,
    weight: 2,
    kind: "exception",
    name: "AssertionError",
    message: (random) =>
      `rollout weights of flag "${random.pick(FLAG_NAMES)}" add up to ${(random.int(900, 1_099) / 10).toFixed(1)}, expected 100`,
    frames: ["Rollout.validate | src/rollout.ts", "new Rollout | src/rollout.ts", "async putFlag | src/routes.ts"],
    ways: [HONO],
  },
  // 20. One issue: segments that hold each other. Where the stack overflows is chance.
  {
    title: "segments hold each other",
    worker: FLAGS,
    weight: 2,
    kind: "exception",
    name: "RangeError",
    message: () => "Maximum call stack size exceeded",
    frames: (random) => {
      const start = random.pick([0, 0, 1, 3]);
      return Array.from({ length: FRAMES_KEPT }, (_, i) => RECURSION[(start + i) % RECURSION.length] ?? "");
    },
    ways: [[]],
  },
  // 21. The other of the pair with 18: sessions are renewed at each request, in a key each.
  {
    title: "KV: session renewed too often",
    worker: AUTH,
    weight: 12,
    kind: "exception",
    name: "Error",
    message: () => "KV PUT failed: 429 Too Many Requests",
    frames: ["async SessionStore.save | src/sessions/store.ts"],
    ways: [["async renew | src/sessions/renew.ts", ...HONO]],
  },
  // 22. One issue: the keys of the identity provider rotated, and the Worker's copy is old.
  {
    title: "jose: no key for the token",
    worker: AUTH,
    weight: 6,
    kind: "logged",
    name: "JWKSNoMatchingKey",
    message: () => "no applicable key found in the JSON Web Key Set",
    frames: [
      "LocalJWKSet.getKey | node_modules/jose/dist/webapi/jwks/local.js",
      "async RemoteJWKSet.getKey | node_modules/jose/dist/webapi/jwks/remote.js",
      "async flattenedVerify | node_modules/jose/dist/webapi/jws/flattened/verify.js",
      "async compactVerify | node_modules/jose/dist/webapi/jws/compact/verify.js",
      "async jwtVerify | node_modules/jose/dist/webapi/jwt/verify.js",
      "async verifyToken | src/tokens/verify.ts",
    ],
    ways: [["async authenticate | src/middleware/authenticate.ts", ...HONO]],
    bare: 0.03,
  },
  // 23. One issue: origins of customers are slow. A DOMException, often without any frame of ours.
  {
    title: "origin of an image is slow",
    worker: IMAGES,
    weight: 20,
    kind: "both",
    name: "TimeoutError",
    message: () => "The operation was aborted due to timeout",
    frames: ["async fetchOriginal | src/origin.ts", "async transform | src/transform.ts"],
    ways: [["async Object.fetch | src/index.ts"]],
    bare: 0.35,
  },
  // 24. One issue: the service that finds faces is down; addresses and times vary.
  {
    title: "gRPC: face detection is unreachable",
    worker: IMAGES,
    weight: 2,
    kind: "logged",
    name: "Error",
    message: (random) =>
      `14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 10.${random.int(0, 31)}.${random.int(0, 255)}.${random.int(1, 254)}:50051 (${isoTime(random)})`,
    frames: [
      "callErrorFromStatus | node_modules/@grpc/grpc-js/build/src/call.js",
      "Object.onReceiveStatus | node_modules/@grpc/grpc-js/build/src/client.js",
      "async FaceDetector.locate | src/faces/detector.ts",
    ],
    ways: [
      ["async smartCrop | src/crop.ts", "async transform | src/transform.ts", "async Object.fetch | src/index.ts"],
    ],
  },
  // 25. Structure varies: one status an attempt, and perhaps the last answer. One issue of ours,
  // the noise of deliveries that were given up; a customer's endpoint is not an issue of its own.
  {
    title: "delivery of a webhook given up",
    worker: WEBHOOKS,
    weight: 60,
    kind: "logged",
    name: "DeliveryError",
    message: (random) => {
      const attempts = listOf(random, 1, 6, () => random.pick(["500", "502", "503", "timeout", "404", "TLS alert 40"]));
      const count = attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`;
      const answer = { error: random.pick(["gone", "bad signature"]), id: hex(random, 10), at: isoTime(random) };
      const last = random.chance(0.4) ? `; last answer: ${JSON.stringify(answer)}` : "";
      return `Delivery ${ulid(random)} to ${hookUrl(random)} failed after ${count}: ${attempts.join(", ")}${last}`;
    },
    frames: ["Delivery.giveUp | dist/delivery.js", "async Delivery.attempt | dist/delivery.js"],
    ways: [
      [
        "async Promise.allSettled | index 7",
        "async deliverAll | dist/consumer.js",
        "async Object.queue | dist/index.js",
      ],
      ["async EndpointQueue.alarm | dist/endpoint-queue.js"],
    ],
    bare: 0.02,
  },
  // 26. One issue: one object per endpoint is too little for the largest customers. The error comes
  // from the platform, and half of the time with nothing but its message.
  {
    title: "Durable Object of an endpoint is overloaded",
    worker: WEBHOOKS,
    weight: 4,
    kind: "exception",
    name: "Error",
    message: () => "Durable Object is overloaded. Requests queued for too long.",
    frames: ["async enqueue | dist/enqueue.js", "async run | node_modules/p-limit/index.js"],
    ways: [
      ["async Object.queue | dist/index.js"],
      ["async publish | dist/api.js", "async Object.fetch | dist/index.js"],
    ],
    bare: 0.5,
  },
  // 27. Structure varies: as many tables as failed, and optional details behind. One issue: the
  // coordinator gives the export up as soon as one table fails.
  {
    title: "export given up because of tables",
    worker: EXPORT,
    weight: 20,
    kind: "both",
    name: "ExportError",
    header: "Error",
    message: (random) => {
      const failures = listOf(random, 1, 4, () => tableFailure(random));
      const of = `${failures.length} of ${failures.length + random.int(0, 4)} tables`;
      const retry = random.chance(0.5) ? `, retry ${random.int(1, 3)} of 3` : "";
      const request = random.chance(0.3) ? ` [request id ${uuid(random)}]` : "";
      return `export ${ulid(random)} of workspace ${workspaceId(random)} failed: ${of} (${failures.join("; ")})${retry}${request}`;
    },
    frames: ["Export.settle | src/export.ts", "async Export.run | src/export.ts"],
    ways: [["async Object.queue | src/index.ts"], ["async ExportWorkflow.run | src/workflow.ts"]],
  },
  // 28. One issue: the query of the next page of contacts is slow. The message is the query and its
  // parameters; the reason (a statement timeout) is in `cause`, which is not logged.
  {
    title: "Postgres: page of contacts fails",
    worker: EXPORT,
    weight: 6,
    kind: "exception",
    name: "Error",
    message: (random) =>
      `Failed query: select "id", "email", "name", "created_at" from "contacts" where ("contacts"."workspace_id" = $1 and "contacts"."id" > $2 and "contacts"."updated_at" >= $3) order by "contacts"."id" limit $4\nparams: ${workspaceId(random)},${random.int(1, 99_999_999)},${isoTime(random)},${random.pick([500, 1_000, 5_000])}`,
    frames: [
      "PostgresJsPreparedQuery.queryWithCache | node_modules/drizzle-orm/pg-core/session.js",
      "async * | node_modules/drizzle-orm/postgres-js/session.js",
      "async ContactPages.next | src/tables/contacts.ts",
    ],
    ways: [
      ["async writeTable | src/write.ts", "async Export.run | src/export.ts", "async Object.queue | src/index.ts"],
    ],
  },
  // 29. One issue: the user's folder in Google Drive was deleted, and the export does not say so.
  {
    title: "Google Drive: folder is gone",
    worker: EXPORT,
    weight: 2,
    kind: "logged",
    name: "GaxiosError",
    header: "Error",
    message: (random) => `File not found: 1${chars(random, `${BASE62}-_`, 32)}.`,
    frames: [
      "Gaxios._request | node_modules/gaxios/build/src/gaxios.js",
      "async OAuth2Client.requestAsync | node_modules/google-auth-library/build/src/auth/oauth2client.js",
      "async DriveTarget.upload | src/targets/drive.ts",
    ],
    ways: [["async Export.run | src/export.ts", "async Object.queue | src/index.ts"]],
    bare: 0.03,
  },
];

/** Causes that a careless grouping joins. */
export const HARD_PAIRS = [
  [1, 2],
  [5, 6],
  [9, 10],
  [18, 21],
] as const;

/** Causes whose messages vary in structure. */
export const VARYING = [3, 25, 27] as const;

/** Errors of each cause in a thousand that do not depend on weights. */
const AT_LEAST_PER_THOUSAND = 8;

function errorOf(cause: number, random: Random): ThirdError {
  const { worker, kind, name, message, header, frames, ways, framesKept = FRAMES_KEPT, bare = 0 } = causeAt(cause);
  const build = { worker, version: random.pick(worker.versions), runtime: random.int(1, 2) };
  const shown = typeof name === "string" ? name : name(build);
  const text = message(random);
  const inner = typeof frames === "function" ? frames(random) : frames;
  const all = [...inner, ...random.pick(ways)].slice(0, framesKept);
  return {
    cause,
    worker: worker.name,
    version: build.version,
    name: shown,
    message: text,
    stack: random.chance(bare) ? null : stackIn(build, header ?? shown, text, all),
    kind: kind === "both" ? random.pick(["exception", "logged"]) : kind,
  };
}

/** @throws RangeError if there is no such cause. */
function causeAt(index: number): Cause {
  const cause = THIRD_CAUSES[index];
  if (cause === undefined) throw new RangeError(`no cause ${index}`);
  return cause;
}

/**
 * Errors in random order, each with its cause. Pure: a seed and a count always give the same. The
 * code of the Workers is the same for all seeds.
 */
export function thirdErrors(seed: number, count = 1_000): ThirdError[] {
  const random = new Random(seed);
  const dealt = THIRD_CAUSES.map(({ weight }, cause) => ({ cause, weight }));
  const floor = Math.floor((count * AT_LEAST_PER_THOUSAND) / 1_000);
  const certain = dealt.flatMap(({ cause }) => Array.from({ length: floor }, () => cause));
  const others = Array.from({ length: count - certain.length }, () => random.weighted(dealt).cause);
  return random.shuffled([...certain, ...others]).map((cause) => errorOf(cause, random));
}
