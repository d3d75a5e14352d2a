/**
 * A made day of a shop: eight Workers, and what goes wrong with them. All is a function of the
 * plan and the time, so what is asked later has one true answer. Pure.
 */

/** When what happens, in ms since the epoch. Infinity: not yet. */
export interface Plan {
  /** Version v42 of {@link BROKEN} is deployed: three of ten requests throw. */
  readonly brokenMs: number;
  /** What {@link SLOW} depends on gets slow. */
  readonly slowMs: number;
  /** The cron of {@link CRON} stops; its requests go on. */
  readonly stoppedMs: number;
  /** Version v43 of {@link BROKEN}, and the end of all before. */
  readonly fixedMs: number;
  /** All of {@link TOGETHER} throw, for {@link TOGETHER_MS}. */
  readonly togetherMs: number;
}

export const NOTHING_YET: Plan = {
  ...{ brokenMs: Number.POSITIVE_INFINITY, slowMs: Number.POSITIVE_INFINITY },
  ...{ stoppedMs: Number.POSITIVE_INFINITY, fixedMs: Number.POSITIVE_INFINITY },
  togetherMs: Number.POSITIVE_INFINITY,
};

export const BROKEN = "checkout";
export const SLOW = "payments";
export const CRON = "reports";
/** What these depend on may go away for all of them. */
export const TOGETHER: readonly string[] = ["accounts", "catalog", "cart", "images", "suggest"];
export const TOGETHER_MS = 120_000;
export const EXPRESSION = "* * * * *";

/** A customer who complains, in three Workers. */
export const CUSTOMER = "cus_8H2KQ9";

/** What a receiver always refuses. */
export const POISON = "order-777027";

/** What v42 throws, without the number of the order. */
export const ERROR = { name: "PaymentError", message: "no terminal for order" } as const;
export const FRAME = "at chargeCard (checkout.js:212:11)";
const STACK = [FRAME, "    at async handleCheckout (checkout.js:31:9)", "    at async fetch (index.js:12:5)"].join(
  "\n",
);

/** Of an event, what {@link Truth} counts. */
export interface Made {
  readonly atMs: number;
  readonly worker: string;
  readonly version: string;
  readonly ray: string;
  readonly hasFailed: boolean;
  readonly isSlow: boolean;
  readonly isCron: boolean;
  readonly customer: string;
  /** As `POST /events` takes it. */
  readonly item: object;
}

interface Kind {
  readonly worker: string;
  readonly path: string;
  readonly method: string;
  /** A request each so many ms. */
  readonly everyMs: number;
  readonly wallMs: number;
  /** It says who asks. */
  readonly hasCustomer?: true;
}

const KINDS: readonly Kind[] = [
  { worker: BROKEN, path: "/checkout", method: "POST", everyMs: 500, wallMs: 90, hasCustomer: true },
  { worker: SLOW, path: "/charges", method: "POST", everyMs: 500, wallMs: 40, hasCustomer: true },
  { worker: "accounts", path: "/me", method: "GET", everyMs: 1_000, wallMs: 15, hasCustomer: true },
  { worker: "catalog", path: "/items", method: "GET", everyMs: 400, wallMs: 12 },
  { worker: "cart", path: "/cart", method: "PUT", everyMs: 800, wallMs: 18 },
  { worker: "images", path: "/img/logo.png", method: "GET", everyMs: 500, wallMs: 4 },
  { worker: "suggest", path: "/suggest", method: "GET", everyMs: 1_000, wallMs: 25 },
  { worker: CRON, path: "/reports/today", method: "GET", everyMs: 2_000, wallMs: 60 },
];

/** Between two looks of {@link CUSTOMER}, and between two runs of the cron. */
const MINUTE_MS = 60_000;

/** All that happens from one time up to but not including another, in order. */
export function madeFrom(plan: Plan, fromMs: number, untilMs: number): Made[] {
  const made = KINDS.flatMap((kind) => times(kind.everyMs, fromMs, untilMs).map((atMs) => requestOf(kind, plan, atMs)));
  // What belongs to a minute comes some seconds later.
  made.push(...times(MINUTE_MS, fromMs - MINUTE_MS, untilMs).flatMap((atMs) => minuteOf(plan, atMs)));
  return made.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs).sort((a, b) => a.atMs - b.atMs);
}

/** Multiples of a step. */
function times(stepMs: number, fromMs: number, untilMs: number): number[] {
  const first = Math.ceil(fromMs / stepMs);
  return Array.from({ length: Math.max(0, Math.ceil(untilMs / stepMs) - first) }, (_, i) => (first + i) * stepMs);
}

function requestOf(kind: Kind, plan: Plan, atMs: number, known?: { ray: string; customer: string }): Made {
  const { worker, path, method, hasCustomer } = kind;
  const n = Math.round(atMs / kind.everyMs);
  const version = versionOf(worker, plan, atMs);
  const isSlow = worker === SLOW && atMs >= plan.slowMs && atMs < plan.fixedMs;
  const isBroken = version === "v42" && [0, 3, 7].includes(n % 10);
  const isAlone = atMs < plan.togetherMs || atMs >= plan.togetherMs + TOGETHER_MS || !TOGETHER.includes(worker);
  const hasFailed = known === undefined && (isBroken || !isAlone);
  const ray = known?.ray ?? `${n.toString(16).slice(-9).padStart(9, "0")}${KINDS.indexOf(kind)}`.padStart(16, "8");
  const customer = hasCustomer ? (known?.customer ?? `cus_${(1_000 + (n % 23)).toString(36)}`) : "";
  const order = 300_000 + (n % 500_000);
  const logs: object[] = hasCustomer
    ? [{ level: "log", message: ["order looked up", { customer, order }], timestamp: atMs }]
    : [];
  if (worker === "accounts" && n % 20 === 0)
    logs.push({
      ...{ level: "error", message: ["newsletter failed", "SmtpError: 421 too many connections"], timestamp: atMs },
      errorInfo: [
        null,
        { name: "SmtpError", message: "421 too many connections", stack: "    at sendMail (accounts.js:77:3)" },
      ],
    });
  const [name, message, stack] = isAlone
    ? [ERROR.name, `${ERROR.message} ${order}`, STACK]
    : ["SessionError", "no session service", `at session (${worker}.js:7:9)`];
  const exceptions = hasFailed
    ? [{ name, message, stack: `${name}: ${message}\n    ${stack}`, timestamp: atMs + 60 }]
    : [];
  const status = worker === "catalog" && n % 100 === 0 ? 503 : 200;
  const request = { url: `https://shop.example${path}/${n}`, method, headers: { "cf-ray": `${ray}-FRA` } };
  return {
    ...{ atMs, worker, version, ray, isSlow, customer, isCron: false },
    hasFailed: hasFailed || status >= 500,
    item: {
      ...{ scriptName: worker, scriptVersion: { id: idOf(worker, version), tag: version, message: "" } },
      ...{ eventTimestamp: atMs, outcome: hasFailed ? "exception" : "ok" },
      event: hasFailed ? { request } : { request, response: { status } },
      ...{ wallTime: isSlow ? 3_000 + (n % 200) : kind.wallMs + (n % 7), cpuTime: 3 + (n % 3) },
      ...{ logs, exceptions },
    },
  };
}

/** What happens each minute: a request of the customer through three Workers, and a cron. */
function minuteOf(plan: Plan, atMs: number): Made[] {
  const known = { ray: `c0${(atMs / MINUTE_MS).toString(16).padStart(14, "0")}`, customer: CUSTOMER };
  const seen = KINDS.slice(0, 3).map((kind, i) => requestOf(kind, plan, atMs + 7_001 + i * 3, known));
  if (atMs >= plan.stoppedMs && atMs < plan.fixedMs) return seen;
  const item = {
    ...{ scriptName: CRON, scriptVersion: { id: idOf(CRON, "v41"), tag: "v41", message: "" } },
    ...{ eventTimestamp: atMs, outcome: "ok", event: { cron: EXPRESSION, scheduledTime: atMs } },
    ...{ wallTime: 150, cpuTime: 12, exceptions: [] },
    logs: [{ level: "log", message: ["report written"], timestamp: atMs }],
  };
  const of = { worker: CRON, version: "v41", ray: "", customer: "", hasFailed: false, isSlow: false };
  return [...seen, { ...of, atMs, isCron: true, item }];
}

/** A record that a receiver refuses. */
export function poisonAt(atMs: number): Made {
  const kind = KINDS[4] as Kind;
  const made = requestOf(kind, NOTHING_YET, atMs);
  const logs = [{ level: "log", message: [POISON], timestamp: atMs }];
  return { ...made, item: { ...made.item, logs } };
}

function versionOf(worker: string, { brokenMs, fixedMs }: Plan, atMs: number): string {
  if (worker !== BROKEN || atMs < brokenMs) return "v41";
  return atMs < fixedMs ? "v42" : "v43";
}

/** As the platform names versions. */
export function idOf(worker: string, version: string): string {
  const hex = [...`${worker}${version}`].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 0xffffffff, 7);
  return `${hex.toString(16).padStart(8, "0")}-4d1c-4e7a-9b8e-0123456789ab`;
}

/** What is true of all that was sent. */
export class Truth {
  readonly all: Made[] = [];
  /** When each version of {@link BROKEN} was first sent, in ms since the epoch. */
  readonly sentMs = new Map<string, number>();

  /** @param nowMs when they were sent. */
  add(made: readonly Made[], nowMs: number): void {
    this.all.push(...made);
    for (const { worker, version } of made)
      if (worker === BROKEN && !this.sentMs.has(version)) this.sentMs.set(version, nowMs);
  }

  /** Those that threw for the reason that the questions are about. */
  broken(): Made[] {
    return this.all.filter(({ worker, hasFailed }) => worker === BROKEN && hasFailed);
  }

  /** @throws if nothing threw yet. */
  firstBroken(): Made {
    const [first] = this.broken();
    if (first === undefined) throw new Error("nothing has failed yet");
    return first;
  }

  slow(): Made[] {
    return this.all.filter(({ isSlow }) => isSlow);
  }

  ofCustomer(): Made[] {
    return this.all.filter(({ customer }) => customer === CUSTOMER);
  }

  lastCron(): Made {
    const last = this.all.findLast(({ isCron }) => isCron);
    if (last === undefined) throw new Error("the cron has not run yet");
    return last;
  }
}
