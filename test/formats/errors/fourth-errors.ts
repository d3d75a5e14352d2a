/**
 * A thousand errors of thirty causes, of six Workers, in the order of time; each Worker is deployed
 * once in between. A cause is one place of the own code and one reason: another table, upstream,
 * type of object or code is another, also from the same helper.
 */

export type FourthError = {
  cause: number;
  worker: string;
  name: string;
  message: string;
  stack: string;
  logged: boolean;
};

type Frame = string | { fn: string; file: string; line: number; col: number; async?: boolean };
type Cause = {
  worker: string;
  weight: number;
  name: string;
  message: (r: Rnd) => string;
  /** each entry is one call path; all share the same top own frame; [] = no stack */
  paths: Frame[][];
  logged?: boolean;
};

type Rnd = ReturnType<typeof makeRnd>;

function makeRnd(seed: number) {
  let s = (seed ^ 0x9e3779b9) >>> 0;
  const next = (): number => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = s;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = (lo: number, hi: number): number => lo + Math.floor(next() * (hi - lo + 1));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const chars = (abc: string, n: number): string => {
    let out = "";
    for (let i = 0; i < n; i++) out += abc[Math.floor(next() * abc.length)];
    return out;
  };
  const HEX = "0123456789abcdef";
  const B62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const L36 = "abcdefghijklmnopqrstuvwxyz0123456789";
  const CROCK = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const pad = (n: number, w = 2): string => String(n).padStart(w, "0");
  const hex = (n: number) => chars(HEX, n);
  const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-${pick(["8", "9", "a", "b"])}${hex(3)}-${hex(12)}`;
  const date = () => new Date(Date.UTC(2024, int(0, 17), int(1, 28), int(0, 23), int(0, 59), int(0, 59), int(0, 999)));
  const email = () => {
    const a = pick([
      "anna",
      "josé",
      "li.wei",
      "m.müller",
      "support",
      "k+test",
      "bob_92",
      "priya.n",
      "oğuz",
      "sven-erik",
      "JaneDoe",
      "info",
    ]);
    const d = pick([
      "example.com",
      "gmail.com",
      "acme.co.uk",
      "firma-schmidt.de",
      "mail.example.org",
      "outlook.com",
      "uni.edu.au",
      "corp.io",
    ]);
    return `${a}${next() < 0.5 ? int(1, 9999) : ""}@${d}`;
  };
  return {
    next,
    int,
    pick,
    hex,
    uuid,
    date,
    email,
    pad,
    num: (lo: number, hi: number, d: number) => (lo + next() * (hi - lo)).toFixed(d),
    b62: (n: number) => chars(B62, n),
    l36: (n: number) => chars(L36, n),
    nano: () => chars(`${B62}_-`, 21),
    cuid: () => `c${chars(L36, 24)}`,
    ulid: () => `01${pick(["H", "J"])}${chars(CROCK, 23)}`,
    base64: (n: number) => chars(`${B62}+/`, n) + pick(["", "=", "=="]),
    ipv4: () => `${int(1, 223)}.${int(0, 255)}.${int(0, 255)}.${int(1, 254)}`,
    ipv6: () =>
      pick([
        () => `2001:db8:${hex(4)}:${hex(3)}::${hex(2)}`,
        () => `2a02:${hex(4)}:${hex(4)}:${hex(4)}:${hex(4)}:${hex(4)}:${hex(4)}:${hex(4)}`,
        () => `fe80::${hex(4)}:${hex(4)}`,
      ])(),
    iso: () => date().toISOString(),
    day: () => date().toISOString().slice(0, 10),
  };
}

const COUNTRIES = ["DE", "US", "GB", "FR", "JP", "BR", "IN", "NL", "SE", "PL", "CA", "AU"];
const CURRENCIES = ["EUR", "USD", "GBP", "JPY", "SEK", "PLN", "BRL", "INR", "CHF", "CAD", "TRY", "ZAR"];

// Workers
// plain: source-mapped stacks; minified: one bundle file, names/columns change by version.
const WORKERS: Record<string, { minified: boolean; bundle: string }> = {
  "checkout-api": { minified: false, bundle: "" },
  "catalog-edge": { minified: true, bundle: "worker.js" },
  "auth-gateway": { minified: false, bundle: "" },
  "billing-cron": { minified: true, bundle: "index.js" },
  "ingest-consumer": { minified: false, bundle: "" },
  "ai-assistant": { minified: true, bundle: "worker.js" },
};

const f = (fn: string, file: string, line: number, col: number): Frame => ({ fn, file, line, col });
const af = (fn: string, file: string, line: number, col: number): Frame => ({ fn, file, line, col, async: true });

function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  h ^= h >>> 12;
  return h >>> 0;
}

const MIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$_";
const METHODS = new Set(["fetch", "scheduled", "queue"]);

function renderFrame(frame: Frame, worker: string, version: number): string {
  if (typeof frame === "string") return `    at ${frame}`;
  const a = frame.async ? "async " : "";
  const w = WORKERS[worker] as (typeof WORKERS)[string];
  if (!w.minified) {
    // version 2 moved the code in some files by a few lines
    const shift = version === 2 && hash(worker + frame.file) % 3 !== 0 ? 1 + (hash(frame.file) % 14) : 0;
    return frame.fn === ""
      ? `    at ${a}${frame.file}:${frame.line + shift}:${frame.col}`
      : `    at ${a}${frame.fn} (${frame.file}:${frame.line + shift}:${frame.col})`;
  }
  const h = hash(`${worker}|${version}|${frame.file}|${frame.fn}`);
  const last = frame.fn.split(".").pop() ?? "";
  const short = METHODS.has(last)
    ? `Object.${last}`
    : `${MIN[h % MIN.length]}${h % 3 === 0 ? "" : `${MIN}0123456789`[(h >>> 8) % 64]}`;
  // where the module starts in the bundle + the place in the module
  const col = 4000 + (hash(`${worker}|${version}|${frame.file}`) % 310000) + frame.line * 31 + frame.col;
  return frame.fn === "" ? `    at ${a}${w.bundle}:1:${col}` : `    at ${a}${short} (${w.bundle}:1:${col})`;
}

// Pieces of stacks that several have
const HONO: Frame[] = [
  "async dispatch (node_modules/hono/dist/compose.js:22:17)",
  "async node_modules/hono/dist/middleware/cors/index.js:79:5",
  "async dispatch (node_modules/hono/dist/compose.js:22:17)",
  "async node_modules/hono/dist/hono-base.js:201:25",
];
const STRIPE: Frame[] = [
  "Function.generate (node_modules/stripe/esm/Error.js:10:20)",
  "res.toJSON.then.Error_js_1.StripeAPIError.message (node_modules/stripe/esm/RequestSender.js:105:49)",
  "process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
];
const D1: Frame[] = [
  "D1DatabaseSessionAlwaysPrimary._sendOrThrow (cloudflare-internal:d1-api:139:19)",
  "async D1PreparedStatement.all (cloudflare-internal:d1-api:362:41)",
];
const JOSE: Frame[] = [
  "validateClaimsSet (node_modules/jose/dist/webapi/lib/jwt_claims_set.js:162:19)",
  "jwtVerify (node_modules/jose/dist/webapi/jwt/verify.js:11:21)",
];
const S3: Frame[] = [
  "throwDefaultError (node_modules/@smithy/smithy-client/dist-es/default-error-handler.js:8:22)",
  "async node_modules/@smithy/middleware-serde/dist-es/deserializerMiddleware.js:5:24",
  "async node_modules/@smithy/middleware-retry/dist-es/retryMiddleware.js:31:46",
];
const tick = "process.processTicksAndRejections (node:internal/process/task_queues:105:5)";

const CAUSES: Cause[] = [
  // ------------------------------------------------------ checkout-api (0-6)
  {
    // 0: request bodies whose item quantity has a wrong type
    worker: "checkout-api",
    weight: 7,
    name: "ZodError",
    message: (r) =>
      JSON.stringify(
        Array.from({ length: r.int(1, 3) }, () => ({
          code: "invalid_type",
          expected: "number",
          received: r.pick(["string", "null", "undefined"]),
          path: ["items", r.int(0, 24), "quantity"],
        })).map((i) => ({
          ...i,
          message: i.received === "undefined" ? "Required" : `Expected number, received ${i.received}`,
        })),
        null,
        2,
      ),
    paths: [
      [
        "get error (node_modules/zod/lib/index.mjs:587:31)",
        "_ZodObject.parse (node_modules/zod/lib/index.mjs:692:22)",
        f("parseOrderBody", "src/routes/orders.schema.ts", 58, 27),
        af("createOrder", "src/routes/orders.ts", 33, 16),
        ...HONO,
      ],
      [
        "get error (node_modules/zod/lib/index.mjs:587:31)",
        "_ZodObject.parse (node_modules/zod/lib/index.mjs:692:22)",
        f("parseOrderBody", "src/routes/orders.schema.ts", 58, 27),
        af("quoteOrder", "src/routes/quotes.ts", 19, 18),
        ...HONO,
      ],
    ],
  },
  {
    // 1
    worker: "checkout-api",
    weight: 5,
    name: "StripeInvalidRequestError",
    message: (r) => `No such customer: 'cus_${r.b62(14)}'`,
    paths: [
      [
        ...STRIPE,
        af("ensureCustomer", "src/payments/customer.ts", 41, 20),
        af("startCheckout", "src/routes/checkout.ts", 72, 22),
        ...HONO,
      ],
    ],
  },
  {
    // 2: other object, other place
    worker: "checkout-api",
    weight: 4,
    name: "StripeInvalidRequestError",
    message: (r) => `No such payment_intent: 'pi_3${r.b62(23)}'`,
    paths: [
      [
        ...STRIPE,
        af("capturePayment", "src/payments/capture.ts", 66, 18),
        af("confirmOrder", "src/routes/orders.ts", 118, 5),
        ...HONO,
      ],
    ],
  },
  {
    // 3: Postgres through Hyperdrive
    worker: "checkout-api",
    weight: 4,
    name: "PostgresError",
    message: (r) =>
      `duplicate key value violates unique constraint "orders_idempotency_key_key"\nDETAIL: Key (idempotency_key)=(${r.uuid()}) already exists.`,
    paths: [
      [
        "ErrorResponse (node_modules/postgres/cf/src/connection.js:794:26)",
        "handle (node_modules/postgres/cf/src/connection.js:480:6)",
        "Socket.data (node_modules/postgres/cf/src/connection.js:315:9)",
        "cachedError (node_modules/postgres/cf/src/query.js:170:23)",
        f("insertOrder", "src/db/orders.repo.ts", 87, 31),
        af("createOrder", "src/routes/orders.ts", 47, 19),
        ...HONO,
      ],
    ],
  },
  {
    // 4
    worker: "checkout-api",
    weight: 6,
    name: "InsufficientStockError",
    message: (r) => {
      const have = r.int(0, 9);
      return `Insufficient stock for SKU ${r.pick(["TSH", "SHO", "BAG", "MUG", "ÄRM"])}-${r.int(100, 99999)}-${r.pick(["S", "M", "L", "XL", "42", "7½"])}: requested ${have + r.int(1, 40)}, available ${have} (order ord-${r.int(2023, 2025)}-${r.pad(r.int(1, 99999), 5)}, warehouse ${r.pick(["ams", "fra", "lhr", "iad"])}${r.int(1, 4)})`;
    },
    paths: [
      [
        f("reserveStock", "src/inventory/reserve.ts", 29, 11),
        af("createOrder", "src/routes/orders.ts", 52, 5),
        ...HONO,
      ],
      [f("reserveStock", "src/inventory/reserve.ts", 29, 11), af("", "src/routes/cart.ts", 91, 7), ...HONO],
    ],
  },
  {
    // 5: timeout of the shipping host
    worker: "checkout-api",
    weight: 5,
    name: "TimeoutError",
    message: (r) =>
      `GET https://shipping-rates-${r.pad(r.int(1, 12))}.internal.acme.io/v2/quote?country=${r.pick(COUNTRIES)}&weight=${r.num(0.1, 30, 2)}kg&zip=${r.int(10000, 99999)} timed out after ${r.int(5000, 5090)} ms`,
    paths: [
      [
        f("fetchWithTimeout", "src/lib/http.ts", 24, 13),
        af("getShippingRates", "src/shipping/rates.ts", 37, 17),
        af("startCheckout", "src/routes/checkout.ts", 51, 21),
        ...HONO,
      ],
    ],
  },
  {
    // 6: timeout of the tax host, same helper
    worker: "checkout-api",
    weight: 4,
    name: "TimeoutError",
    message: (r) =>
      `GET https://tax-engine-${r.pad(r.int(1, 6))}.eu.vatcalc.example/api/calc?currency=${r.pick(CURRENCIES)}&amount=${r.int(100, 250000)}&cart=${r.nano()} timed out after ${r.int(5000, 5090)} ms`,
    paths: [
      [
        f("fetchWithTimeout", "src/lib/http.ts", 24, 13),
        af("calculateTax", "src/tax/client.ts", 44, 15),
        af("startCheckout", "src/routes/checkout.ts", 58, 17),
        ...HONO,
      ],
    ],
  },
  // ------------------------------------------- catalog-edge, minified (7-11)
  {
    // 7
    worker: "catalog-edge",
    weight: 2,
    name: "Error",
    message: () => "D1_ERROR: no such table: product_variants: SQLITE_ERROR",
    paths: [
      [
        ...D1,
        af("listVariants", "variants", 40, 12),
        af("productPage", "product", 88, 9),
        af("app.fetch", "index", 12, 20),
      ],
    ],
  },
  {
    // 8
    worker: "catalog-edge",
    weight: 2,
    name: "Error",
    message: () => "D1_ERROR: no such table: reviews: SQLITE_ERROR",
    paths: [
      [
        ...D1,
        af("latestReviews", "reviews", 22, 4),
        af("productPage", "product", 93, 2),
        af("app.fetch", "index", 12, 20),
      ],
    ],
  },
  {
    // 9
    worker: "catalog-edge",
    weight: 6,
    name: "Error",
    message: (r) =>
      `KV PUT failed for key "catalog:v${r.int(3, 4)}:${r.pick(COUNTRIES)}:${r.hex(r.pick([16, 40]))}": 429 Too Many Requests`,
    paths: [
      [f("cachePut", "cache", 51, 8), af("productPage", "product", 120, 9), af("app.fetch", "index", 12, 20)],
      [f("cachePut", "cache", 51, 8), af("categoryPage", "category", 64, 9), af("app.fetch", "index", 12, 20)],
    ],
  },
  {
    // 10: the supplier feed answers with an HTML page
    worker: "catalog-edge",
    weight: 3,
    name: "SyntaxError",
    message: (r) =>
      `Unexpected token '<', ${r.pick(['"<!DOCTYPE "...', '"<html>\n<he"...', '"<!doctype "...', '"<html lang"...', '"<html><hea"...'])} is not valid JSON`,
    paths: [
      [
        "JSON.parse (<anonymous>)",
        f("readSupplierFeed", "supplier", 31, 14),
        af("refreshPrices", "supplier", 77, 3),
        af("app.scheduled", "index", 30, 11),
      ],
    ],
  },
  {
    // 11
    worker: "catalog-edge",
    weight: 4,
    name: "Error",
    message: (r) =>
      `R2 upload of images/${r.pick(["products", "banners", "größen"])}/${r.ulid()}.${r.pick(["webp", "avif", "jpg"])} (${r.pick([`${r.num(0.2, 19, 1)} MB`, `${r.int(20, 990)} KB`, `${r.int(100000, 9000000)} bytes`])}) failed: put: We encountered an internal error. Please try again. (10001)`,
    paths: [
      [
        f("storeImage", "images", 67, 21),
        tick,
        af("uploadHandler", "images", 102, 6),
        af("app.fetch", "index", 12, 20),
      ],
    ],
    logged: true,
  },
  // ---------------------------------------------------- auth-gateway (12-16)
  {
    // 12
    worker: "auth-gateway",
    weight: 4,
    name: "JWTExpired",
    message: () => '"exp" claim timestamp check failed',
    paths: [
      [
        ...JOSE,
        af("verifySession", "src/session.ts", 38, 23),
        af("requireUser", "src/middleware/require-user.ts", 15, 18),
        af("Object.fetch", "src/index.ts", 27, 14),
      ],
      [
        ...JOSE,
        af("verifySession", "src/session.ts", 38, 23),
        af("handleRefresh", "src/routes/refresh.ts", 22, 19),
        af("Object.fetch", "src/index.ts", 27, 14),
      ],
    ],
  },
  {
    // 13
    worker: "auth-gateway",
    weight: 2,
    name: "JWTClaimValidationFailed",
    message: () => 'unexpected "aud" claim value',
    paths: [
      [
        ...JOSE,
        af("verifyPartnerToken", "src/partners/token.ts", 52, 21),
        af("handlePartner", "src/routes/partner.ts", 18, 17),
        af("Object.fetch", "src/index.ts", 27, 14),
      ],
    ],
  },
  {
    // 14: same message as 15, other place
    worker: "auth-gateway",
    weight: 3,
    name: "TypeError",
    message: () => "Cannot read properties of undefined (reading 'id')",
    paths: [
      [f("attachTenant", "src/middleware/tenant.ts", 21, 34), af("Object.fetch", "src/index.ts", 31, 9)],
      [
        f("attachTenant", "src/middleware/tenant.ts", 21, 34),
        af("handlePartner", "src/routes/partner.ts", 29, 5),
        af("Object.fetch", "src/index.ts", 27, 14),
      ],
    ],
  },
  {
    // 15
    worker: "auth-gateway",
    weight: 2,
    name: "TypeError",
    message: () => "Cannot read properties of undefined (reading 'id')",
    paths: [
      [
        f("auditLogin", "src/audit/login.ts", 64, 41),
        af("handleLogin", "src/routes/login.ts", 83, 5),
        af("Object.fetch", "src/index.ts", 27, 14),
      ],
    ],
  },
  {
    // 16
    worker: "auth-gateway",
    weight: 7,
    name: "HTTPException",
    message: (r) =>
      `User "${r.email()}" not found in tenant ${r.pick(["acme-eu", "globex", "initech-42", "umbrella", `tenant_${r.l36(8)}`])} (ip ${r.next() < 0.6 ? r.ipv4() : r.ipv6()})`,
    paths: [
      [
        f("loadUser", "src/users/load.ts", 33, 11),
        af("handleLogin", "src/routes/login.ts", 40, 16),
        af("Object.fetch", "src/index.ts", 27, 14),
      ],
    ],
    logged: true,
  },
  // ------------------------------------------ billing-cron, minified (17-21)
  {
    // 17
    worker: "billing-cron",
    weight: 2,
    name: "PrismaClientKnownRequestError",
    message: () =>
      "\nInvalid `prisma.invoice.update()` invocation:\n\n\nAn operation failed because it depends on one or more records that were required but not found. Record to update not found.",
    paths: [
      [
        f("$n.handleRequestError", "prisma", 700, 8),
        f("$n.request", "prisma", 690, 2),
        af("markInvoicePaid", "invoices", 61, 5),
        af("run.scheduled", "index", 20, 3),
      ],
    ],
  },
  {
    // 18: other code of the same SDK
    worker: "billing-cron",
    weight: 4,
    name: "PrismaClientKnownRequestError",
    message: (r) =>
      `\nInvalid \`prisma.subscription.findMany()\` invocation:\n\n\nTimed out fetching a new connection from the connection pool. More info: http://pris.ly/d/connection-pool (Current connection pool timeout: ${r.pick([10, 15, 20])}, connection limit: ${r.int(3, 17)})`,
    paths: [
      [
        f("$n.handleRequestError", "prisma", 700, 8),
        f("$n.request", "prisma", 690, 2),
        af("dueSubscriptions", "subscriptions", 35, 9),
        af("run.scheduled", "index", 16, 3),
      ],
    ],
  },
  {
    // 19
    worker: "billing-cron",
    weight: 5,
    name: "RangeError",
    message: (r) => {
      const d = r.date();
      const bad = r.pick([
        `${r.pad(d.getUTCDate())}/${r.pad(d.getUTCMonth() + 1)}/${d.getUTCFullYear()}`,
        `${d.getUTCDate()}.${d.getUTCMonth() + 1}.${d.getUTCFullYear()}`,
        `${d.getUTCFullYear()}-13-${r.pad(d.getUTCDate())}`,
        `${d.getUTCFullYear()}年${d.getUTCMonth() + 1}月${d.getUTCDate()}日`,
        `${d.toISOString().slice(0, 19)}+25:00`,
        `${d.getUTCDate()} ${r.pick(["janv.", "Mär", "июл", "févr."])} ${d.getUTCFullYear()}`,
      ]);
      return `Cannot parse renewal date "${bad}" of subscription sub_1${r.b62(23)}`;
    },
    paths: [
      [
        f("parseRenewal", "dates", 18, 10),
        f("", "subscriptions", 70, 30),
        "Array.map (<anonymous>)",
        f("planRenewals", "subscriptions", 69, 4),
        af("run.scheduled", "index", 17, 3),
      ],
    ],
  },
  {
    // 20
    worker: "billing-cron",
    weight: 5,
    name: "Error",
    message: (r) =>
      `No exchange rate ${r.pick(CURRENCIES)}→${r.pick(CURRENCIES)} on ${r.day()}; cannot convert ${r.pick([`${r.int(1, 9999)}.${r.pad(r.int(0, 99))}`, `${r.int(1, 99)},${r.pad(r.int(0, 999), 3)}.${r.pad(r.int(0, 99))}`])} for invoice ${r.pick(["INV-", "INV-"])}${r.int(2023, 2025)}-${r.pad(r.int(1, 999999), 6)}`,
    paths: [
      [f("convert", "fx", 27, 13), af("buildInvoice", "invoices", 44, 7), af("run.scheduled", "index", 19, 3)],
      [f("convert", "fx", 27, 13), af("creditNote", "invoices", 133, 7), af("run.scheduled", "index", 22, 3)],
    ],
    logged: true,
  },
  {
    // 21
    worker: "billing-cron",
    weight: 2,
    name: "Error",
    message: () => "Worker exceeded CPU time limit.",
    paths: [[]],
  },
  // ------------------------------------------------- ingest-consumer (22-25)
  {
    // 22: same shape and place as 23, other name/code
    worker: "ingest-consumer",
    weight: 5,
    name: "NoSuchKey",
    message: (r) =>
      `GetObject s3://${r.pick(["acme-imports", "acme-imports-eu"])}/${s3key(r)} failed: The specified key does not exist. (404, request id ${r.b62(16).toUpperCase()}, host id ${r.base64(56)})`,
    paths: [
      [
        ...S3,
        af("downloadImport", "src/import/download.ts", 26, 15),
        af("processMessage", "src/consumer.ts", 48, 18),
        af("Object.queue", "src/index.ts", 14, 7),
      ],
    ],
  },
  {
    // 23
    worker: "ingest-consumer",
    weight: 4,
    name: "SlowDown",
    message: (r) =>
      `GetObject s3://${r.pick(["acme-imports", "acme-imports-eu"])}/${s3key(r)} failed: Please reduce your request rate. (503, request id ${r.b62(16).toUpperCase()}, host id ${r.base64(56)})`,
    paths: [
      [
        ...S3,
        af("downloadImport", "src/import/download.ts", 26, 15),
        af("processMessage", "src/consumer.ts", 48, 18),
        af("Object.queue", "src/index.ts", 14, 7),
      ],
    ],
  },
  {
    // 24: producer sends broken JSON
    worker: "ingest-consumer",
    weight: 5,
    name: "SyntaxError",
    message: (r) => {
      const pos = r.int(20, 9000);
      const snip = r.pick([
        `{"sku":"${r.int(1000, 99999)}","qty":${r.int(1, 50)} "price":${r.num(1, 500, 2)}}`,
        `{"id":"${r.cuid()}","name":"Café "Noir"","ts":${r.int(1700000000, 1749999999)}}`,
        `{"event":"view","user":${r.int(1, 9999999)},"tags":["a","b"] "ip":"${r.ipv4()}"}`,
      ]);
      return `Bad queue message ${r.hex(32)} (attempt ${r.int(1, 5)}): Expected ',' or '}' after property value in JSON at position ${pos} (line 1 column ${pos + 1}): ${snip}`;
    },
    paths: [
      [
        "JSON.parse (<anonymous>)",
        f("decodeMessage", "src/decode.ts", 12, 17),
        f("processMessage", "src/consumer.ts", 31, 20),
        af("Object.queue", "src/index.ts", 14, 7),
      ],
    ],
    logged: true,
  },
  {
    // 25
    worker: "ingest-consumer",
    weight: 4,
    name: "UpstashError",
    message: (r) =>
      `WRONGTYPE Operation against a key holding the wrong kind of value, command was: ["hincrby","stats:${r.day()}:${r.pick([r.uuid(), String(r.int(1, 99999))])}","${r.pick(["views", "clicks", "orders"])}",${r.int(1, 250)}]`,
    paths: [
      [
        "HttpClient.request (node_modules/@upstash/redis/chunk-56TVFNIH.mjs:172:13)",
        tick,
        "async HIncrByCommand.exec (node_modules/@upstash/redis/chunk-56TVFNIH.mjs:364:31)",
        af("bumpCounter", "src/stats/counters.ts", 17, 3),
        af("processMessage", "src/consumer.ts", 66, 5),
        af("Object.queue", "src/index.ts", 14, 7),
      ],
    ],
  },
  // ------------------------------------------ ai-assistant, minified (26-29)
  {
    // 26
    worker: "ai-assistant",
    weight: 6,
    name: "RateLimitError",
    message: (r) => {
      const limit = r.pick([30000, 200000, 450000]);
      return `429 Rate limit reached for ${r.pick(["gpt-4o", "gpt-4o", "gpt-4o-mini"])} in organization org-${r.b62(24)} on tokens per min (TPM): Limit ${limit}, Used ${limit - r.int(10, 2500)}, Requested ${r.int(2501, 9000)}. Please try again in ${r.pick([`${r.num(1, 30, 3)}s`, `${r.int(80, 999)}ms`, `1m${r.num(1, 20, 1)}s`])}. Visit https://platform.openai.com/account/rate-limits to learn more.`;
    },
    paths: [
      [
        f("APIError.generate", "openai", 50, 9),
        f("makeStatusError", "openai", 310, 9),
        af("complete", "llm", 33, 6),
        af("chatRoute", "chat", 71, 5),
        af("app.fetch", "index", 9, 4),
      ],
      [
        f("APIError.generate", "openai", 50, 9),
        f("makeStatusError", "openai", 310, 9),
        af("complete", "llm", 33, 6),
        af("summarize", "summary", 25, 5),
        af("app.queue", "index", 18, 4),
      ],
    ],
  },
  {
    // 27: other code of the same SDK
    worker: "ai-assistant",
    weight: 4,
    name: "BadRequestError",
    message: (r) =>
      `400 This model's maximum context length is 128000 tokens. However, your messages resulted in ${r.int(128010, 410000)} tokens${r.next() < 0.4 ? ` (${r.int(120000, 127000)} in the messages, ${r.int(300, 2900)} in the functions)` : ""}. Please reduce the length of the messages.`,
    paths: [
      [
        f("APIError.generate", "openai", 48, 3),
        f("makeStatusError", "openai", 310, 9),
        af("complete", "llm", 33, 6),
        af("chatRoute", "chat", 71, 5),
        af("app.fetch", "index", 9, 4),
      ],
    ],
  },
  {
    // 28
    worker: "ai-assistant",
    weight: 5,
    name: "GraphQLError",
    message: (r) =>
      `Variable "$input" got invalid value "${r.pick(["xx", "english", "de_DE", "中文", "pt-br", "Français", "en-UK", "ES", "null", "🇩🇪", r.l36(4), r.l36(6)])}" at "input.settings[${r.int(0, 6)}].locale"; Value does not exist in "Locale" enum.`,
    paths: [
      [
        f("coerceVariable", "graphql", 410, 12),
        f("getVariableValues", "graphql", 380, 5),
        f("execute", "graphql", 220, 9),
        af("graphqlRoute", "gql", 27, 4),
        af("app.fetch", "index", 11, 4),
      ],
    ],
    logged: true,
  },
  {
    // 29
    worker: "ai-assistant",
    weight: 1.5,
    name: "TypeError",
    message: () => "Durable Object reset because its code was updated.",
    paths: [[]],
  },
];

function s3key(r: Rnd): string {
  return r.pick([
    () => `${r.day().replaceAll("-", "/")}/${r.uuid()}.csv.gz`,
    () => `partner-${r.int(1, 480)}/export_${r.iso().slice(0, 19).replace(/[-:]/g, "")}Z.ndjson`,
    () => `uploads/${r.ulid()}/part-${r.pad(r.int(0, 99), 5)}.parquet`,
  ])();
}

const TOTAL = 1000;
const FLOOR = 8;

export function fourthErrors(seed: number): FourthError[] {
  const r = makeRnd(seed);
  // how often each cause occurs: at least FLOOR, the rest by weight with some seed-dependent wobble
  const weights = CAUSES.map((c) => c.weight * (0.6 + 0.8 * r.next()));
  const sum = weights.reduce((a, b) => a + b, 0);
  const rest = TOTAL - FLOOR * CAUSES.length;
  const counts = weights.map((w) => FLOOR + Math.floor((rest * w) / sum));
  let left = TOTAL - counts.reduce((a, b) => a + b, 0);
  for (let i = 0; left > 0; i = (i + 1) % counts.length, left--) counts[i] = (counts[i] ?? 0) + 1;

  const order: number[] = [];
  counts.forEach((n, cause) => {
    for (let i = 0; i < n; i++) order.push(cause);
  });
  for (let i = order.length - 1; i > 0; i--) {
    const j = r.int(0, i);
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }

  // every Worker gets its second version at some moment of the run
  const deployAt: Record<string, number> = {};
  for (const w of Object.keys(WORKERS)) deployAt[w] = r.int(350, 650);

  return order.map((cause, at) => {
    const c = CAUSES[cause] as Cause;
    const version = at < (deployAt[c.worker] ?? 0) ? 1 : 2;
    const message = c.message(r);
    const frames = r.pick(c.paths).map((x) => renderFrame(x, c.worker, version));
    const logged = c.logged === true;
    // a logged error carries err.stack (with its head); an uncaught one only the frames
    const stack = frames.length === 0 ? "" : (logged ? `${c.name}: ${message}\n` : "") + frames.join("\n");
    return { cause, worker: c.worker, name: c.name, message, stack, logged };
  });
}
