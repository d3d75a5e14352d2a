/** The twelve questions of an engineer on call, and how the dashboard answers them. */
import type { Locator, Page } from "playwright-core";
import { clock, count, stamp } from "../../../src/base/words.ts";
import { BROKEN, CRON, CUSTOMER, ERROR, EXPRESSION, FRAME, SLOW } from "./events.ts";
import type { Played, Player } from "./player.ts";
import type { IncidentWorld } from "./world.ts";

export interface Question {
  readonly number: number;
  readonly asks: string;
  /** @returns the answer, as the page has it. @throws Error if that is not the true one. */
  play(player: Player, world: IncidentWorld): Promise<string>;
}

export interface Answer extends Played {
  readonly number: number;
  readonly asks: string;
  readonly answer: string;
  /** Why there is no true answer; null: there is. */
  readonly fault: string | null;
  /** It took more than {@link MOST}. */
  readonly isLong: boolean;
}

/** The most that a question may take. */
export const MOST = { clicks: 3, seconds: 10 } as const;

/** Plays one question from the overview on. */
export async function played({ number, asks, play }: Question, player: Player, world: IncidentWorld): Promise<Answer> {
  await player.begin();
  let answer = "";
  let fault: string | null = null;
  try {
    answer = await play(player, world);
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error);
  }
  const took = player.end();
  return { number, asks, answer, fault, ...took, isLong: took.clicks > MOST.clicks || took.machineS > MOST.seconds };
}

/** A text for a regular expression. */
function quoted(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** How long after it was sent an event may be taken in, in ms. */
const TAKEN_WITHIN_MS = 10_000;

/** The times of day at which something that was sent then may be said to have been taken in. */
function takenAt(sentMs: number, of = (takenMs: number): number => takenMs): string {
  return `(${[sentMs, sentMs + TAKEN_WITHIN_MS].map((takenMs) => clock(of(takenMs))).join("|")}) UTC`;
}

/** In the sentence about a Worker that fails: no failure is said to be before its five minutes. */
function failing({ truth }: IncidentWorld): RegExp {
  const firstMs = truth.firstBroken().atMs;
  const since = takenAt(truth.sentMs.get("v42") ?? 0, (ms) => Math.max(firstMs, ms - (ms % 300_000)));
  return new RegExp(`${BROKEN}.* is failing: .*since ${since}[^.]*`);
}

async function toProblems({ page, click }: Bound): Promise<void> {
  await click(page.getByRole("navigation").getByRole("link", { name: "Problems", exact: true }));
}

/** In the list of problems. */
function problem(page: Page): Locator {
  return page.locator("#all tbody tr", { hasText: `${ERROR.name}: ${ERROR.message}` });
}

async function toFailing({ page, click }: Bound): Promise<void> {
  await click(page.locator("#verdict, #functions").getByRole("link", { name: BROKEN, exact: true }));
  await page.getByRole("heading", { level: 1, name: BROKEN }).waitFor();
}

/** Beside the records of a search. */
function valuesOf(page: Page, name: string): Locator {
  return page.locator(".facet", { has: page.getByRole("heading", { name }) });
}

/** A player whose methods stand alone. */
type Bound = ReturnType<typeof boundTo>;

function boundTo(player: Player) {
  return {
    page: player.page,
    click: player.click.bind(player),
    press: player.press.bind(player),
    type: player.type.bind(player),
    read: player.read.bind(player),
  };
}

function question(
  number: number,
  asks: string,
  play: (player: Bound, world: IncidentWorld) => Promise<string>,
): Question {
  return { number, asks, play: (player, world) => play(boundTo(player), world) };
}

export const QUESTIONS: readonly Question[] = [
  question(1, "Which Worker fails, since when?", async ({ page, read }, world) =>
    read(page.locator("#verdict, #functions"), failing(world)),
  ),
  question(2, "With which error, how often?", async (player, { truth }) => {
    await toProblems(player);
    const often = count(truth.broken().length);
    return player.read(
      problem(player.page),
      new RegExp(`${ERROR.name}: ${ERROR.message} # .*${BROKEN} ${often}(?!\\d)`),
    );
  }),
  question(3, "Which was the first failing request?", async (player, { truth }) => {
    await toProblems(player);
    await player.click(problem(player.page).getByRole("link", { name: "first record" }));
    const { atMs, ray } = truth.firstBroken();
    const first = player.page.locator("details.record[open]").filter({ hasText: ray });
    return player.read(first.locator("summary"), new RegExp(`${stamp(atMs, 1).slice(11)}.*${BROKEN}.*`));
  }),
  question(4, "What is its stack?", async (player) => {
    await toProblems(player);
    await player.click(problem(player.page).getByRole("link", { name: "latest record" }));
    return player.read(player.page.locator("details.record[open] .record-details"), new RegExp(quoted(FRAME)));
  }),
  question(5, "Which version began it?", async ({ page, read }, { truth }) => {
    const at = takenAt(truth.sentMs.get("v42") ?? 0);
    return read(page.locator("#verdict, #functions"), new RegExp(`${BROKEN}.*version "v42" was first seen at ${at}`));
  }),
  question(6, "How many requests and customers are hit?", async (player, { truth }) => {
    const { page, click, press, read } = player;
    await toProblems(player);
    await click(problem(page).getByRole("link", { name: "search for such records" }));
    const failed = await read(page.locator("#figures .total"), new RegExp(`^${count(truth.broken().length)} records`));
    await press("j");
    await press("Enter");
    await click(page.locator("details.record[open]").getByRole("button", { name: "pin Fields.customer" }));
    const customers = new Set(truth.broken().map(({ customer }) => customer)).size;
    return `${failed}; ${await read(valuesOf(page, "Fields.customer"), new RegExp(`^Fields.customer ${customers} values`))}`;
  }),
  question(7, `What of customer ${CUSTOMER}?`, async (player, { truth }) => {
    await player.press("/");
    await player.type(CUSTOMER);
    const found = player.page.getByRole("link", { name: "Search the last day" });
    await player.read(found, new RegExp(CUSTOMER));
    await player.press("Enter");
    const all = truth.ofCustomer();
    await player.read(player.page.locator("#figures .total"), new RegExp(`^${count(all.length)} records`));
    const workers = [...new Set(all.map(({ worker }) => worker))].sort();
    return player.read(
      valuesOf(player.page, "worker"),
      new RegExp(workers.map((name) => `${name} ${all.length / workers.length}`).join(" .*")),
    );
  }),
  question(8, "Which Worker is slow, since when?", async (player, { truth }) => {
    const slow = truth.slow();
    await player.click(player.page.getByRole("link", { name: "Search", exact: true }));
    await player.click(player.page.getByRole("link", { name: "slower than a second" }));
    const worker = await player.read(valuesOf(player.page, "worker"), new RegExp(`${SLOW} ${count(slow.length)}`));
    const since = await player.read(
      player.page.locator("#figures"),
      new RegExp(`The first: ${stamp(slow[0]?.atMs ?? 0)} UTC`),
    );
    return `${worker}, ${since}`;
  }),
  question(9, "Which Worker or cron is silent?", async ({ page, read }, { truth }) => {
    const minutes = Math.floor((Date.now() - truth.lastCron().atMs) / 60_000);
    const ago = [minutes - 1, minutes, minutes + 1].join("|");
    return read(
      page.locator("#verdict li"),
      new RegExp(`${CRON} has missed its cron "${quoted(EXPRESSION)}" twice in a row.* (${ago}) min ago`),
    );
  }),
  question(10, "Is anything lost or late, and why?", async ({ page, click, read }, { jobs }) => {
    const late = await read(page.locator("#verdict li"), new RegExp(`job ${jobs.refused}.*HTTP 403 AccessDenied`, "i"));
    const held = await read(
      page.locator("#verdict li"),
      new RegExp(`job ${jobs.poisoned}\\b.* keeps 1 record on hold`),
    );
    const lost = await read(page.locator("#ledger span"), /^0 lost on arrival/);
    await click(page.getByRole("navigation").getByRole("link", { name: "On hold" }));
    const why = await read(page.locator("#aside tbody tr"), /1 record of job|HTTP 400.*1 record/);
    return `${late}; ${held}: ${why}; ${lost}`;
  }),
];

/** Asked when v43 runs. */
export const AFTERWARDS: readonly Question[] = [
  question(11, "Is it over?", async (player, { truth }) => {
    await toFailing(player);
    const of = truth.all.filter(({ worker, version }) => worker === BROKEN && version === "v43").length;
    return player.read(player.page.locator("#versions tr"), new RegExp(`^v43 .* ${count(of)} 0 `));
  }),
  question(12, "Shall I be told next time?", async ({ page, click, press, type, read }) => {
    await press("/");
    await type(`${ERROR.name} worker:${BROKEN}`);
    await read(page.locator("#found li, dialog li"), new RegExp(ERROR.name));
    await press("Enter");
    await click(page.getByRole("link", { name: "Save this search" }));
    await click(page.getByLabel("Name", { exact: true }));
    await type("Payments");
    // The query is there. Alert on the number of records, at least ten of them, over five minutes.
    for (const key of ["Tab", "Tab", "ArrowDown", "Tab", "Tab", "Tab"]) await press(key);
    await type("10");
    await press("Enter");
    await read(page.locator("main"), /Saved/);
    return read(page.locator("#about"), /at least 10 records in 5 min/);
  }),
];
