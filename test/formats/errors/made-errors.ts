/**
 * Errors of eight made-up Workers, with what caused each: for measuring how well errors of one
 * cause are recognised as such. Texts of Cloudflare, V8 and libraries are worded as they are in
 * reality; the rest is what applications write.
 *
 * From error to error of one cause there vary, each as the cause has it:
 * - values in the message: ids, order numbers of several channels, amounts by locale, durations,
 *   sizes, URLs, addresses, dates, hashes, names in several scripts, JSON in any order of keys;
 * - how much there is of it: list items, SQL tuples, optional parts, from none to over 1 kB;
 * - the Worker's version, and with it lines and columns, in some Workers minified names, and paths
 *   of packages that contain a version;
 * - the frames below the top ones: other routes, more middleware, another index of `Promise.all`.
 *
 * Constant per cause: the Worker, the error's name, the wording around the values, the Worker's own
 * function on top, and whether there is a stack. Six causes have a constant message (`isConstant`),
 * so their errors differ in stacks alone; one of them has no stack, so there only the version does.
 *
 * Not made: messages in the language of the user, one cause under several names, functions that
 * are renamed, source maps that come with a later version, texts and stacks that are cut off.
 */
import { Random } from "../../soak/random.ts";
import {
  type Build,
  buildsOf,
  type Deployed,
  type Frame,
  lib,
  oneOfAll,
  own,
  runtime,
  stackText,
} from "./made-stacks.ts";
import * as made from "./made-values.ts";

export interface MadeError {
  /** An index of `CAUSES`. */
  readonly cause: number;
  readonly worker: string;
  readonly version: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** Thrown out of the handler, or given to `console.error`. */
  readonly kind: "exception" | "logged";
}

interface Cause {
  readonly worker: keyof typeof WORKERS;
  readonly name: string;
  /** `both`: one or the other, as some callers catch it. */
  readonly kind: MadeError["kind"] | "both";
  /** How often it occurs, compared with the others. */
  readonly weight: number;
  /** Whether the message is the same each time. */
  readonly isConstant?: true;
  readonly message: (r: Random) => string;
  /** Top frame first; null: there is no stack. */
  readonly frames: ((r: Random) => readonly Frame[]) | null;
}

const WORKERS = {
  "shop-api": { form: "mapped", file: "index.js", versions: 3 },
  checkout: { form: "mapped", file: "index.js", versions: 3, hasPnpm: true },
  billing: { form: "bundled", file: "index.js", versions: 2 },
  "auth-gateway": { form: "minified", file: "worker.js", versions: 3 },
  "image-resizer": { form: "minified", file: "worker.js", versions: 2 },
  notifications: { form: "bundled", file: "index.js", versions: 3 },
  "search-sync": { form: "mapped", file: "index.js", versions: 2 },
  "live-rooms": { form: "bundled", file: "index.js", versions: 2 },
} as const satisfies Record<string, Deployed>;

/** What is below a route of a Hono app: requests pass through one to four middlewares. */
function hono(r: Random): Frame[] {
  const middleware = ["src/middleware/session.ts", "src/middleware/locale.ts", "src/middleware/timing.ts"];
  const passed = middleware
    .slice(0, r.int(0, 3))
    .flatMap((path) => [lib("async dispatch", "hono/dist/compose.js"), own("async", path)]);
  const base = [lib("async dispatch", "hono/dist/compose.js"), lib("async", "hono/dist/hono-base.js")];
  return [...passed, ...base, own("async Object.fetch", "src/index.ts")];
}

/** The same for a Worker without a framework. */
const handler = (name: "fetch" | "queue" | "scheduled"): Frame => own(`async Object.${name}`, "src/index.ts");

/** What calls the functions of a shopping cart. */
function cartRoute(r: Random): Frame[] {
  const route = r.pick(["getCart", "addToCart", "quote", "mergeCarts"]);
  const several = r.chance(0.5) ? [oneOfAll] : [];
  return [own("cartTotals", "src/cart/totals.ts"), ...several, own(`async ${route}`, "src/routes/cart.ts"), ...hono(r)];
}

/** How a settlement ends that its processor declines: one text but for the verb, one stack. */
function settlement(verb: string): Pick<Cause, "worker" | "name" | "kind" | "message" | "frames"> {
  return {
    worker: "checkout",
    name: "PaymentError",
    kind: "both",
    message: (r) =>
      `Could not ${verb} ${made.amount(r)} for order ${made.order(r)} (${made.stripeId(r, "pi", 24)}): ` +
      `the processor answered ${r.pick([402, 409, 429])} after ${made.duration(r)}`,
    frames: (r) => [
      own("new PaymentError", "src/payments/errors.ts"),
      own("settle", "src/payments/settle.ts"),
      runtime("process.processTicksAndRejections (node:internal/process/task_queues:105:5)"),
      own("async Ledger.record", "src/payments/ledger.ts"),
      ...hono(r),
    ],
  };
}

const notFound = {
  worker: "checkout",
  name: "NotFoundError",
  message: (r: Random) => `Order ${made.order(r)} not found`,
} as const;

const lost = { name: "Error", isConstant: true, message: () => "Network connection lost." } as const;

/** 1 to 25 rows of a statement by Drizzle, and their values. */
function drizzleInsert(r: Random): string {
  const columns = ["id", "order_id", "sku", "title", "quantity", "unit_price", "created_at"];
  const orderId = made.uuid(r);
  const rows = made.some(r, 1, 25, () => [
    made.nanoid(r),
    orderId,
    `${made.word(r).toUpperCase()}-${r.int(10, 9_999)}`,
    made.product(r),
    r.int(1, 60),
    r.int(99, 99_999),
    made.epochS(r),
  ]);
  const tuples = rows.map((row) => `(${row.map(() => "?").join(", ")})`).join(", ");
  const names = columns.map((column) => `"${column}"`).join(", ");
  return `Failed query: insert into "order_lines" (${names}) values ${tuples}\nparams: ${rows.flat().join(",")}`;
}

/** The message of a ZodError: its issues, as JSON. */
function zodIssues(r: Random): string {
  const found = made.some(r, 1, 8, () => {
    const [lineOf, received] = [r.int(0, 40), r.pick(["string", "undefined", "null", "NaN"])];
    return r.pick<() => object>([
      () => ({
        expected: "number",
        code: "invalid_type",
        path: ["lines", lineOf, "quantity"],
        message: `Invalid input: expected number, received ${received}`,
      }),
      () => ({
        origin: "number",
        code: "too_small",
        minimum: 1,
        inclusive: true,
        path: ["lines", lineOf, "quantity"],
        message: "Too small: expected number to be >=1",
      }),
      () => {
        const keys = made.some(r, 1, 3, () => `${made.word(r)}_${made.word(r)}`);
        const message = `Unrecognized key${keys.length > 1 ? "s" : ""}: ${keys.map((key) => `"${key}"`).join(", ")}`;
        return { code: "unrecognized_keys", keys, path: ["lines", lineOf], message };
      },
    ])();
  });
  return JSON.stringify(found, null, 2);
}

/** What Prisma shows of a call that lacks an argument. */
function prismaInvocation(r: Random): string {
  const lines = made.some(
    r,
    1,
    6,
    () => `        { title: ${JSON.stringify(made.product(r))}, cents: ${r.int(50, 90_000)} }`,
  );
  return [
    "",
    "Invalid `prisma.invoice.create()` invocation:",
    "",
    "{",
    "  data: {",
    `    number: "INV-2026-${r.int(10_000, 99_999)}",`,
    `    customerName: ${JSON.stringify(made.customer(r))},`,
    `    customerId: "${made.stripeId(r, "cus")}",`,
    `    totalCents: ${r.int(100, 9_999_999)},`,
    `    dueAt: new Date("${made.isoTime(r)}"),`,
    "    lines: {",
    `      create: [\n${lines.join(",\n")}\n      ]`,
    "    },",
    "+   currency: String",
    "  }",
    "}",
    "",
    "Argument `currency` is missing.",
  ].join("\n");
}

/** What PostgreSQL says of two transactions that wait for each other. */
function deadlock(r: Random): string {
  const [one, other] = [r.int(100, 99_999), r.int(100, 99_999)];
  const lock = (): string =>
    r.chance(0.7)
      ? `ShareLock on transaction ${r.int(1_000, 99_999_999)}`
      : `ExclusiveLock on tuple (${r.int(0, 900)},${r.int(1, 99)}) of relation ${r.int(16_384, 40_000)} of database 16385`;
  return [
    "deadlock detected",
    `DETAIL:  Process ${one} waits for ${lock()}; blocked by process ${other}.`,
    `Process ${other} waits for ${lock()}; blocked by process ${one}.`,
    "HINT:  See server log for query details.",
    `CONTEXT:  while updating tuple (${r.int(0, 900)},${r.int(1, 99)}) in relation "invoices"`,
  ].join("\n");
}

/** V8 on a text that is no JSON: all of it, or ten characters on both sides of the position. */
function unexpectedToken(text: string, at = 0): string {
  const [from, to] = text.length < 21 ? [0, text.length] : [Math.max(0, at - 10), Math.min(text.length, at + 10)];
  const excerpt = `${from > 0 ? "..." : ""}"${text.slice(from, to)}"${to < text.length ? "..." : ""}`;
  return `Unexpected token '${text[at]}', ${excerpt} is not valid JSON`;
}

/** A provider's reply that is no JSON: an error page, a text of a proxy, a value that is none. */
function notJson(r: Random): string {
  const html = ["<!DOCTYPE html><html>", "<!doctype html>\n<html", "<html>\r\n<head>", '<?xml version="1.0"?>'];
  const number = `{"ok":true,"${made.word(r)}":"${made.nanoid(r)}","price":`;
  return r.pick([
    () => unexpectedToken(`${r.pick(html)}${" ".repeat(100)}`),
    () => unexpectedToken(`error code: ${r.int(500, 530)}`),
    () => unexpectedToken(`Ray ${made.rayId(r)} was blocked`),
    () => unexpectedToken(`${r.pick(["Gateway", "Shard", "Upstream", "Backend"])} ${r.int(1, 999)} is down`),
    () => unexpectedToken(`${number}${r.pick(["NaN", "Infinity", "undefined"])},"${made.word(r)}":1}`, number.length),
    () => unexpectedToken(`${number}1,"until":${made.customer(r)}}`, number.length + 10),
  ])();
}

/** Ajv's texts on the recipients of a message, in one line. */
function ajvErrors(r: Random): string {
  const found = made.some(r, 1, 12, () => {
    const at = `data/recipients/${r.int(0, 250)}`;
    return r.pick([
      `${at}/email must match format "email"`,
      `${at}/locale must be equal to one of the allowed values`,
      `${at} must have required property 'name'`,
      `${at}/sendAfter must be integer`,
    ]);
  });
  return `Template "${made.word(r)}-${made.word(r)}" for ${made.customer(r)}: ${found.join(", ")}`;
}

/** The answer of a search engine, to 1 … 12 documents. */
function bulkAnswer(r: Random): string {
  const items = made.some(r, 1, 12, () => {
    const reason = `failed to parse field [${r.pick(["price", "released"])}] of type [float] in document with id '${made.ulid(r)}'`;
    const cause = { type: "number_format_exception", reason: `For input string: ${JSON.stringify(made.amount(r))}` };
    const error = { type: "document_parsing_exception", reason, ...(r.chance(0.5) ? { caused_by: cause } : {}) };
    return { index: { _index: `products-${made.isoDate(r)}`, _id: made.ulid(r), status: 400, error } };
  });
  return made.json(r, { took: r.int(1, 900), errors: true, items, ingest_took: r.int(0, 40) });
}

/** A statement that was put together from texts with apostrophes, and what SQLite says of it. */
function brokenSql(r: Random): string {
  const tail = r.pick(["Oréal", "Angelo", "Brien", "été", "Addario"]);
  const term = `${r.pick(["L", "d", "O", "D"])}'${tail}${r.chance(0.5) ? ` ${made.product(r).replaceAll("'", "")}` : ""}`;
  const values = `('${term}', '${made.email(r)}', ${r.int(0, 900)}, '${made.date(r)}')`;
  const text = `INSERT INTO searches (term, account, hits, at) VALUES ${values}`;
  const near = `near "${tail}": syntax error at offset ${text.indexOf(tail)}`;
  return `D1_EXEC_ERROR: Error in line ${r.int(1, 30)}: ${text}: ${near}: SQLITE_ERROR`;
}

/** The cause of an error is its index. */
export const CAUSES: readonly Cause[] = [
  // Two properties that one function reads: the data lack one or the other.
  {
    worker: "shop-api",
    name: "TypeError",
    kind: "exception",
    weight: 12,
    isConstant: true,
    message: () => "Cannot read properties of undefined (reading 'price')",
    frames: (r) => [
      own("lineTotal", "src/cart/totals.ts", "price"),
      runtime("Array.reduce (<anonymous>)"),
      ...cartRoute(r),
    ],
  },
  {
    worker: "shop-api",
    name: "TypeError",
    kind: "exception",
    weight: 3,
    isConstant: true,
    message: () => "Cannot read properties of undefined (reading 'currency')",
    frames: (r) => [
      own("lineTotal", "src/cart/totals.ts", "currency"),
      runtime("Array.reduce (<anonymous>)"),
      ...cartRoute(r),
    ],
  },
  {
    worker: "shop-api",
    name: "Error",
    kind: "logged",
    weight: 8,
    message: (r) =>
      `Insert of order ${made.order(r)} for ${made.quoted(r)} (key ${made.uuid(r)}) failed: ` +
      "D1_ERROR: UNIQUE constraint failed: orders.idempotency_key: SQLITE_CONSTRAINT",
    frames: (r) => [
      own("OrderRepository.insert", "src/orders/repository.ts"),
      own("async createOrder", "src/routes/orders.ts"),
      ...hono(r),
    ],
  },
  {
    worker: "shop-api",
    name: "DrizzleQueryError",
    kind: "exception",
    weight: 4,
    message: drizzleInsert,
    frames: (r) => [
      lib("D1PreparedQuery.queryWithCache", "drizzle-orm/sqlite-core/session.js"),
      runtime("process.processTicksAndRejections (node:internal/process/task_queues:105:5)"),
      own("async insertLines", "src/orders/lines.ts"),
      own("async createOrder", "src/routes/orders.ts"),
      ...hono(r),
    ],
  },
  {
    worker: "shop-api",
    name: "ZodError",
    kind: "both",
    weight: 7,
    message: zodIssues,
    frames: (r) => [
      lib("new ZodError", "zod/v4/classic/errors.js"),
      lib("", "zod/v4/core/parse.js"),
      own("parseOrder", "src/orders/schema.ts"),
      own(`async ${r.pick(["createOrder", "previewOrder"])}`, "src/routes/orders.ts"),
      ...hono(r),
    ],
  },
  {
    worker: "checkout",
    name: "StripeInvalidRequestError",
    kind: "exception",
    weight: 5,
    message: (r) => `No such customer: '${made.stripeId(r, "cus")}'`,
    frames: (r) => [
      lib("generate", "stripe/esm/Error.js"),
      lib("", "stripe/esm/RequestSender.js"),
      runtime("new Promise (<anonymous>)"),
      own("async chargeCustomer", "src/payments/charge.ts"),
      ...hono(r),
    ],
  },
  { ...settlement("capture"), weight: 5 },
  { ...settlement("refund"), weight: 1 },
  // One text from two functions.
  {
    ...notFound,
    kind: "exception",
    weight: 6,
    frames: (r) => [own("loadOrder", "src/orders/load.ts"), own("async showOrder", "src/routes/orders.ts"), ...hono(r)],
  },
  {
    ...notFound,
    kind: "exception",
    weight: 1,
    frames: (r) => [
      own("applyVoucher", "src/vouchers/apply.ts"),
      own("async redeem", "src/routes/orders.ts"),
      ...hono(r),
    ],
  },
  {
    worker: "billing",
    name: "PrismaClientValidationError",
    kind: "exception",
    weight: 3,
    message: prismaInvocation,
    frames: (r) => [
      lib("throwValidationException", "@prisma/client/runtime/edge.js"),
      lib("PrismaClient._request", "@prisma/client/runtime/edge.js"),
      own("async InvoiceWriter.write", "src/invoices/writer.ts"),
      ...(r.chance(0.4) ? [oneOfAll] : []),
      handler("queue"),
    ],
  },
  {
    worker: "billing",
    name: "PostgresError",
    kind: "both",
    weight: 4,
    message: deadlock,
    frames: (r) => [
      lib("ErrorResponse", "postgres/cf/src/connection.js"),
      lib("handle", "postgres/cf/src/connection.js"),
      runtime("ReadableStreamDefaultReader.read (cloudflare:sockets)"),
      own(`async ${r.pick(["closeMonth", "closeInvoice"])}`, "src/invoices/close.ts"),
      handler("queue"),
    ],
  },
  // The same of two Workers: see the last but one.
  {
    ...lost,
    worker: "billing",
    kind: "exception",
    weight: 4,
    frames: (r) => [
      own("async chargeBatch", "src/charges/batch.ts"),
      oneOfAll,
      ...(r.chance(0.5) ? [oneOfAll] : []),
      handler("queue"),
    ],
  },
  {
    worker: "auth-gateway",
    name: "TokenError",
    kind: "logged",
    weight: 10,
    message: (r) =>
      `Token of user_${made.ksuid(r)} expired ${r.int(1, 90_000)} s ago ` +
      `(exp ${made.epochS(r)}, now ${made.isoTime(r)}, kid "${made.base64(r, 28)}")`,
    frames: () => [
      own("new TokenError", "src/token.ts"),
      own("checkExpiry", "src/token.ts"),
      own("async verify", "src/token.ts"),
      handler("fetch"),
    ],
  },
  {
    worker: "auth-gateway",
    name: "Error",
    kind: "exception",
    weight: 6,
    message: (r) =>
      `HTTP 502 from ${made.url(r, "login.example.com", "oauth/token")} after ${made.ms(r)}, ray ${made.rayId(r)}` +
      (r.chance(0.4)
        ? `, body ${made.json(r, { error: "bad_gateway", trace_id: made.hex(r, 32), retry_after: r.int(1, 60) })}`
        : ""),
    frames: (r) => [
      own("readUpstream", "src/upstream.ts"),
      own(`async ${r.pick(["exchangeCode", "refresh"])}`, "src/oauth.ts"),
      own("async", "src/router.ts"),
      handler("fetch"),
    ],
  },
  {
    worker: "auth-gateway",
    name: "RateLimitError",
    kind: "logged",
    weight: 9,
    message: (r) =>
      `Too many sign-ins from ${made.ip(r)} as ${made.email(r)}: ${r.int(11, 400)} in 60 s, retry after ${made.duration(r)}`,
    frames: null,
  },
  {
    worker: "auth-gateway",
    name: "TypeError",
    kind: "exception",
    weight: 4,
    isConstant: true,
    message: () => "Cannot read properties of null (reading 'sub')",
    frames: (r) => [
      own("claimsOf", "src/claims.ts"),
      own(`async ${r.pick(["exchangeCode", "refresh", "introspect", "revoke"])}`, "src/oauth.ts"),
      ...(r.chance(0.5) ? [oneOfAll] : []),
      own("async", "src/router.ts"),
      handler("fetch"),
    ],
  },
  {
    worker: "image-resizer",
    name: "Error",
    kind: "both",
    weight: 4,
    message: (r) =>
      `Could not store originals/${made.isoDate(r).replaceAll("-", "/")}/${made.sha256(r)}.webp ` +
      `(${made.size(r)}, md5 ${made.md5(r)}): put: We encountered an internal error. Please try again. (10001)`,
    frames: () => [own("Originals.store", "src/originals.ts"), own("async resize", "src/resize.ts"), handler("fetch")],
  },
  {
    worker: "image-resizer",
    name: "Error",
    kind: "exception",
    weight: 3,
    isConstant: true,
    message: () => "Worker exceeded CPU time limit.",
    frames: null,
  },
  {
    worker: "image-resizer",
    name: "TimeoutError",
    kind: "logged",
    weight: 8,
    message: (r) =>
      `Fetching ${made.url(r, `cdn${r.int(1, 9)}.example.net`, "media")} timed out after ${r.int(1, 60) * 500} ms ` +
      `(attempt ${r.int(1, 3)} of 3, cache key ${made.sha1(r)})`,
    frames: () => [own("", "src/fetch-source.ts"), own("async fetchSource", "src/fetch-source.ts"), handler("fetch")],
  },
  {
    worker: "notifications",
    name: "SyntaxError",
    kind: "both",
    weight: 5,
    message: (r) => {
      const [position, row] = [r.int(20, 60_000), r.chance(0.5) ? 1 : r.int(2, 900)];
      const column = row === 1 ? position + 1 : r.int(1, 80);
      return `Expected ',' or '}' after property value in JSON at position ${position} (line ${row} column ${column})`;
    },
    frames: (r) => [
      runtime("JSON.parse (<anonymous>)"),
      own("parseEvent", "src/events.ts"),
      runtime("Array.map (<anonymous>)"),
      own(`async ${r.pick(["deliver", "redeliver"])}`, "src/deliver.ts"),
      handler("queue"),
    ],
  },
  {
    worker: "notifications",
    name: "SyntaxError",
    kind: "exception",
    weight: 5,
    message: notJson,
    frames: (r) => [
      runtime("JSON.parse (<anonymous>)"),
      own("readReply", "src/providers/push.ts"),
      ...(r.chance(0.6) ? [oneOfAll] : []),
      own("async Push.send", "src/providers/push.ts"),
      handler("queue"),
    ],
  },
  {
    worker: "notifications",
    name: "ValidationError",
    kind: "logged",
    weight: 5,
    message: ajvErrors,
    frames: () => [own("assertValid", "src/templates.ts"), own("render", "src/templates.ts"), handler("queue")],
  },
  {
    worker: "notifications",
    name: "Error",
    kind: "exception",
    weight: 0.3,
    message: (r) => `batch size of ${r.int(256_001, 990_000)} bytes exceeds limit of 256000 bytes (10205)`,
    frames: () => [own("async Outbox.flush", "src/outbox.ts"), own("async", "src/outbox.ts"), handler("scheduled")],
  },
  {
    worker: "notifications",
    name: "Error",
    kind: "logged",
    weight: 4,
    message: (r) =>
      `14 UNAVAILABLE: No connection established. Last error: connect ECONNREFUSED ${made.hostPort(r)} (${made.isoTime(r)})`,
    frames: (r) => [
      lib("callErrorFromStatus", "@grpc/grpc-js/build/src/call.js"),
      lib("Object.onReceiveStatus", "@grpc/grpc-js/build/src/client.js"),
      runtime("node:internal/process/task_queues:151:7"),
      own(`async ${r.pick(["Sms.send", "Sms.status"])}`, "src/providers/sms.ts"),
      handler("queue"),
    ],
  },
  {
    worker: "search-sync",
    name: "Error",
    kind: "exception",
    weight: 0.3,
    message: (r) => `KV GET failed: 414 UTF-8 encoded length of ${r.int(513, 40_000)} exceeds key length limit of 512.`,
    frames: () => [own("async Cursor.read", "src/cursor.ts"), own("async sync", "src/sync.ts"), handler("scheduled")],
  },
  {
    worker: "search-sync",
    name: "BulkError",
    kind: "logged",
    weight: 6,
    message: (r) => `Bulk request to ${made.hostPort(r)} failed: ${bulkAnswer(r)}`,
    frames: (r) => [
      own("Index.#bulk", "src/search-index.ts"),
      ...(r.chance(0.5) ? [oneOfAll] : []),
      own("async sync", "src/sync.ts"),
      handler("scheduled"),
    ],
  },
  {
    worker: "search-sync",
    name: "Error",
    kind: "exception",
    weight: 3,
    message: brokenSql,
    frames: () => [
      runtime("D1Database.exec (cloudflare-internal:d1-api:195:23)"),
      own("async saveSearches", "src/searches.ts"),
      handler("scheduled"),
    ],
  },
  {
    ...lost,
    worker: "live-rooms",
    kind: "exception",
    weight: 7,
    frames: (r) => [
      own("async Room.fetch", "src/room.ts"),
      oneOfAll,
      ...(r.chance(0.5) ? [oneOfAll] : []),
      handler("fetch"),
    ],
  },
  {
    worker: "live-rooms",
    name: "Error",
    kind: "logged",
    weight: 0.2,
    message: (r) =>
      `Room ${r.pick([made.ulid(r), `${made.word(r)}-${made.word(r)}`])} of ${made.customer(r)} kept ${r.int(1, 900)} messages since ${made.date(r)}: ` +
      "Durable Object storage operation exceeded timeout which caused object to be reset.",
    frames: () => [own("Room.flush", "src/room.ts"), own("async Room.alarm", "src/room.ts")],
  },
];

/** A later error is more often of a later version, which takes over gradually. */
function buildAt(builds: readonly Build[], progress: number, r: Random): Build {
  const at = Math.floor((progress + (r.next() - 0.5) * 0.7) * builds.length);
  return builds[Math.min(Math.max(at, 0), builds.length - 1)] as Build;
}

function errorOf(index: number, { worker, name, kind, message, frames }: Cause, build: Build, r: Random): MadeError {
  const text = message(r);
  return {
    cause: index,
    worker,
    version: build.version,
    name,
    message: text,
    stack: frames && stackText(`${name}: ${text}`, frames(r), build, r),
    kind: kind === "both" ? r.pick(["exception", "logged"] as const) : kind,
  };
}

/**
 * The same errors for the same seed, in a random order. Some causes are frequent and some are rare;
 * of each there is at least one in 200.
 * @param seed an integer. It decides about positions, versions and minified names too.
 */
export function madeErrors(seed: number, count = 1_000): MadeError[] {
  const r = new Random(seed);
  const builds = new Map(Object.entries(WORKERS).map(([worker, it]) => [worker, buildsOf(seed, worker, it)]));
  const numbered = CAUSES.map((cause, index) => ({ cause, index, weight: cause.weight }));
  const least = numbered.flatMap((each) => Array.from({ length: Math.floor(count / 200) }, () => each));
  const drawn = Array.from({ length: count - least.length }, () => r.weighted(numbered));
  return r.shuffled([...least, ...drawn]).map(({ cause, index }, i) => {
    return errorOf(index, cause, buildAt(builds.get(cause.worker) ?? [], i / count, r), r);
  });
}
