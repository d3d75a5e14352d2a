/**
 * Searches in the midst of a service at work: courses drawn from a seed, in which events come, are
 * cut, delivered, refused, set aside and lost. Each search is compared with a slow one over the
 * events that the job was given, which asks no code under test.
 */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { Random } from "../../soak/random.ts";
import { ndjson } from "../../support/audit.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import { variants } from "../../support/matrix.ts";
import type { Minted } from "../../support/oracle.ts";
import { asMember } from "../../support/parquet-files.ts";
import { api } from "../../support/runtime/api.ts";
import { jobObjects, NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";
import type { JobOptions, WorldJob } from "../../support/runtime/world-jobs.ts";
import { type Action, type Rule, rule } from "../../support/s3-script.ts";
import { countOf } from "./counted.ts";
import { stringsOf } from "./records.ts";
import { type HitLine, type SearchAnswer, searchFor } from "./searched.ts";

afterEach(() => void vi.restoreAllMocks());

const DAY_MS = 86_400_000;
const SCRIPTS = ["shop", "shop-api", "cart"];
const OUTCOMES = ["ok", "exception"];
/** Some have words in common, and parts of them begin and end inside a word. */
const TEXTS = ["card declined by bank", "Card 4711 accepted", "Straße nach İstanbul", "timeout: 4711-4712"];

/** A job, and what it was given. */
interface Kind extends JobOptions {
  readonly fieldNames?: readonly string[];
  readonly isCsv?: boolean;
}

const KINDS: readonly Kind[] = [
  {},
  { fields: { sketches: false } },
  { path: "{SCRIPT}/dt={DATE_ISO}/hour={HOUR}" },
  {
    fields: { filter: '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}', max_upload_interval_seconds: 30 },
    keeps: ({ record }) => record.Outcome !== "ok",
  },
  {
    fields: { output_options: { field_names: ["Logs", "Outcome", "Event", "EventTimestampMs"] } },
    fieldNames: ["Logs", "Outcome", "Event", "EventTimestampMs"],
  },
  {
    fields: { output_options: { field_names: ["Logs", "ScriptName"], batch_prefix: "", record_suffix: "} \n" } },
    fieldNames: ["Logs", "ScriptName"],
  },
  { fields: { output_options: { output_type: "csv", field_names: ["ScriptName"] } }, isCsv: true },
  { fields: { output_options: { output_type: "parquet" } } },
];

interface Question {
  readonly since: string;
  readonly until: string;
  readonly order: "newest" | "oldest";
  readonly limit: number;
  readonly job_id?: number;
  readonly text?: string;
  readonly ray_id?: string;
  readonly filter?: string;
}

type Shipped = Readonly<Record<string, unknown>>;

/** What of a question does not hang on time: a slow search's own idea of it. */
interface Asked {
  readonly fields: Pick<Question, "text" | "ray_id" | "filter">;
  readonly matches: (shipped: Shipped) => boolean;
}

const rayOf = (shipped: Shipped): unknown => (shipped.Event as { RayID?: unknown } | undefined)?.RayID;
const idOf = ({ Logs }: Shipped): string => (Logs as { Message: string[] }[])[0]?.Message[0] ?? "none";

const where = (key: string, operator: string, value: string): string =>
  JSON.stringify({ where: { key, operator, value } });

function anyAsked(random: Random, rays: readonly string[]): Asked {
  const draws = [random.next(), random.next(), random.next()] as const;
  const pick = <T>(items: readonly T[], at: number): T => items[Math.floor((draws[at] as number) * items.length)] as T;
  const script = pick(SCRIPTS, 1);
  const outcome = pick(OUTCOMES, 2);
  const ray = pick(rays.length === 0 ? ["0000000000000000"] : rays, 1);
  const letters = [...pick(TEXTS, 1)];
  const from = Math.floor(draws[2] * letters.length);
  const part = letters.slice(from, from + 4 + Math.floor(draws[1] * 12)).join("");
  const holds = (text: string) => (shipped: Shipped) =>
    stringsOf(shipped).some((each) => each.toLowerCase().includes(text.toLowerCase()));
  return pick<Asked>(
    [
      { fields: {}, matches: () => true },
      { fields: { text: part }, matches: holds(part) },
      { fields: { text: "4711" }, matches: holds("4711") },
      { fields: { text: `${script} ` }, matches: holds(`${script} `) },
      { fields: { ray_id: ray }, matches: (shipped) => rayOf(shipped) === ray },
      {
        fields: { filter: where("ScriptName", "eq", script) },
        matches: ({ ScriptName }) => ScriptName === script,
      },
      {
        fields: { filter: where("Outcome", "!eq", outcome), text: "bank" },
        matches: (shipped) => shipped.Outcome !== outcome && holds("bank")(shipped),
      },
      {
        fields: { filter: where("Event.Request.URL", "contains", "event-0000"), ray_id: ray },
        matches: (shipped) => rayOf(shipped) === ray && holds("event-0000")(shipped),
      },
    ],
    0,
  );
}

/** What a search must find, and what it may find besides, as `job id`. */
interface Expected {
  readonly must: ReadonlySet<string>;
  readonly may: ReadonlySet<string>;
}

interface Compared {
  readonly pages: SearchAnswer[];
  readonly question: Question;
  /** What it should have found besides, had nothing been lost. */
  readonly must: ReadonlySet<string>;
}

/** An object that its store gives no more, or with other bytes. */
interface Spoiled {
  readonly job: number;
  readonly number: number;
  /** As `job id`. */
  readonly records: ReadonlySet<string>;
}

class Course {
  readonly random: Random;
  readonly world = new World(NOON);
  readonly #kinds = new Map<WorldJob, Kind>();
  /** Events that a job was to get, in order. */
  readonly #given = new Map<WorldJob, Minted[]>();
  readonly #rays: string[] = [];
  readonly trace: string[] = [];
  pages = 0;
  hits = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.world.coldIsolate();
    vi.spyOn(platform, "random").mockImplementation(() => this.random.next());
  }

  async begin(): Promise<void> {
    const kinds = this.random.shuffled(KINDS).slice(0, 4);
    for (const kind of kinds) {
      const job = await this.world.createJob(kind);
      this.#kinds.set(job, kind);
      this.#given.set(job, []);
    }
    this.trace.push(`jobs ${[...this.#kinds].map(([{ id }, kind]) => `${id}: ${JSON.stringify(kind)}`).join(", ")}`);
  }

  mint(): Minted[] {
    const { random, world } = this;
    const form = random.pick(["record", "record", "trace"] as const);
    const events = world.mint(random.int(1, 6), {
      at: world.clock.nowMs() - random.pick([0, 0, 60_000, 3_600_000, DAY_MS]),
      days: random.pick([1, 1, 2]),
      stepMs: random.pick([1, 1_000, 1_800_000]),
      scriptName: random.pick(SCRIPTS),
      outcome: random.pick(OUTCOMES),
      padding: random.chance(0.1) ? 5_000 : 0,
      form,
    });
    for (const { event, record } of events) {
      const text = random.pick(TEXTS);
      const ray = `8f14e45fceea${random.int(0, 0xffff).toString(16).padStart(4, "0")}`;
      if (form === "record") (event.Event as { RayID: string }).RayID = ray;
      if (form === "record") (record.Event as { RayID: string }).RayID = ray;
      if (form === "record") this.#rays.push(ray);
      const logged = event[form === "record" ? "Logs" : "logs"] as { Message?: string[]; message?: string[] }[];
      for (const { Message, message } of logged) (Message ?? message)?.splice(1, 0, text);
      for (const { Message } of record.Logs as { Message: string[] }[]) Message.splice(1, 0, text);
    }
    for (const job of this.world.jobs.all) this.#given.get(job)?.push(...events.filter(job.keeps));
    return events;
  }

  async take(): Promise<void> {
    const events = this.mint();
    const isTrace = events.some(({ event }) => Object.hasOwn(event, "eventTimestamp"));
    const way = isTrace ? "tail" : this.random.pick(["post", "ship"] as const);
    if (way === "tail") await this.world.tail(events);
    else if (way === "ship") expect(await this.world.ship(events)).toBe(true);
    else await this.world.take(events);
    this.trace.push(`${way}: ${events.length} events from ${events[0]?.id} on`);
  }

  /** One thing that happens by itself. */
  async happens(): Promise<void> {
    const { world, random } = this;
    const job = random.pick(world.jobs.all);
    const control = job.buckets.at(-1)?.control;
    const deed = random.weighted([
      { weight: 5, name: "take" },
      { weight: 3, name: "deliver" },
      { weight: 4, name: "take, deliver" },
      { weight: 3, name: "alarms" },
      { weight: 2, name: "fill" },
      { weight: 1, name: "refuse" },
      { weight: 1, name: "aside" },
      { weight: 2, name: "well" },
      { weight: 1, name: "resend" },
    ]).name;
    const seconds = random.pick([1, 10, 40, 400]);
    world.clock.advance(seconds * 1_000);
    this.trace.push(`${new Date(world.clock.nowMs()).toISOString()} ${deed} of job ${job.id}`);
    if (deed === "take") await this.take();
    else if (deed === "deliver") await world.deliverDue();
    else if (deed === "take, deliver") {
      await this.take();
      await world.deliverDue();
    } else if (deed === "alarms") await world.runAlarms();
    else if (deed === "well") for (const { buckets } of world.jobs.all) await buckets[0]?.control.script([]);
    else if (deed === "refuse") await control?.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
    else if (deed === "aside")
      await control?.script([rule({ do: "answer", status: 400, code: "InvalidArgument" }, { method: "PUT" }, 1)]);
    else if (deed === "fill") {
      // What it reads next is the last that it takes.
      const nodes = await world.nodes(job.id);
      const full = { segmentMaxBytes: 1 };
      if (nodes.length < 4)
        await runInDurableObject(
          nodeAt(env.READERS, job.id, nodes.at(-1) ?? 0),
          (reader) => void Object.assign(reader, full),
        );
    } else {
      const all = (await api<{ id: string }[]>("GET", "/logship/set-aside")).body.result;
      const first = all[0];
      if (first !== undefined) await api("POST", `/logship/set-aside/${first.id}/resend`);
    }
  }

  question(asked: Asked): Question {
    const { random, world } = this;
    const now = world.clock.nowMs();
    const isWide = random.chance(0.6);
    const since = isWide ? now - 3 * DAY_MS : now - random.int(1, 3_600_000);
    const until = isWide ? now + 3 * DAY_MS : since + random.int(1, 2 * 3_600_000);
    return {
      since: new Date(since).toISOString(),
      until: new Date(until).toISOString(),
      order: random.pick(["newest", "oldest"]),
      limit: random.chance(0.3) ? 1_000 : random.pick([1, 2, 3, 4, 5, 5, 5, 5]),
      ...(random.chance(0.2) && { job_id: random.pick(world.jobs.all).id }),
      ...asked.fields,
    };
  }

  /** What a slow search finds. @param lost `job id` of records that the store does not give. */
  async expected({ since, until, job_id }: Question, { matches }: Asked, lost: ReadonlySet<string>): Promise<Expected> {
    const [sinceMs, untilMs] = [Date.parse(since), Date.parse(until)];
    const inFlight = await this.world.inFlight();
    const [must, may] = [new Set<string>(), new Set<string>()];
    for (const [job, { fieldNames, isCsv = false }] of this.#kinds) {
      if (isCsv || (job_id !== undefined && job_id !== job.id)) continue;
      for (const event of this.#given.get(job) ?? []) {
        if (!matches(shippedAs(event, fieldNames))) continue;
        const key = `${job.id} ${event.id}`;
        const isWithin = event.at >= sinceMs && event.at < untilMs;
        // A record that was shipped without its time is taken to be of its object's.
        if (isWithin || fieldNames?.includes("EventTimestampMs") === false) may.add(key);
        if (isWithin && !inFlight.has(event.id) && !lost.has(key)) must.add(key);
      }
    }
    return { must, may };
  }

  fieldsOf(jobId: number): readonly string[] | undefined {
    return [...this.#kinds].find(([{ id }]) => id === jobId)?.[1].fieldNames;
  }

  given(jobId: number): ReadonlyMap<string, Minted> {
    const [, events = []] = [...this.#given].find(([{ id }]) => id === jobId) ?? [];
    return new Map(events.map((event) => [event.id, event]));
  }

  /** Jobs whose records of this time are in no form that is searched: the answer has to say so. */
  unsearchable({ job_id, since, until }: Question): number[] {
    return [...this.#kinds].flatMap(([{ id }, { isCsv }]) => {
      const isAsked = isCsv && (job_id === undefined || job_id === id);
      const isWithin = ({ at }: Minted): boolean => at >= Date.parse(since) && at < Date.parse(until);
      return isAsked && [...this.given(id).values()].some(isWithin) ? [id] : [];
    });
  }

  anyAsked(): Asked {
    return anyAsked(this.random, this.#rays);
  }

  /** All pages, while things happen between them. @throws unless they are as a slow search's. */
  async compare(isQuiet: boolean, lost: ReadonlySet<string> = new Set()): Promise<Compared> {
    const asked = this.anyAsked();
    const question = this.question(asked);
    const before = await this.expected(question, asked, lost);
    this.trace.push(`${new Date(this.world.clock.nowMs()).toISOString()} search ${JSON.stringify(question)}`);
    const pages: SearchAnswer[] = [];
    for (let cursor: string | null = null; ; ) {
      const page: SearchAnswer = await searchFor({ ...question, ...(cursor !== null && { cursor }) });
      pages.push(page);
      this.trace.push(`page of ${page.hits.map(nameOf)}; ${JSON.stringify(page.end.not_searched)}`);
      expect(page.hits.length).toBeLessThanOrEqual(question.limit);
      cursor = page.end.cursor;
      if (cursor === null) break;
      if (pages.length > 500) throw new Error("the search has no end");
      // Without an end to what comes, there is none to a search whose time is not over.
      if (!isQuiet && pages.length < 10 && this.random.chance(0.5)) await this.happens();
    }
    const after = await this.expected(question, asked, lost);
    const hits = pages.flatMap((page) => page.hits);
    const names = hits.map(nameOf);
    this.pages += pages.length;
    this.hits += hits.length;
    const told = new Set(hits.map(({ record }) => idOf(record)));
    expect(told.size, "none twice, whatever jobs shipped it").toBe(hits.length);
    const named = leftOut(pages).map(({ what }) => what);
    // Of the copies of a record, one is found, unless it is not known that they are.
    const isLeft = (job: string): boolean => named.some((what) => what.split(/[ :]/).includes(job));
    // Of copies that are not known for such, a count reads more where it knows before what fails.
    if (isQuiet && (lost.size === 0 || this.areTold)) {
      const { rows, end } = await countOf({ ...question, count: { by: ["outcome"], top: 1 } });
      const counts = [...rows, ...(end.other === null ? [] : [end.other])].map(({ values }) => Number(values[0]));
      expect(
        counts.reduce((sum, each) => sum + each, 0),
        "as many as are counted",
      ).toBe(hits.length);
    }
    expect(
      [...before.must]
        .map((name) => name.split(" ") as [string, string])
        .filter(([job, id]) => !told.has(id) && !isLeft(job)),
      "none missing",
    ).toEqual([]);
    expect(
      names.filter((name) => !after.may.has(name)),
      "none too many",
    ).toEqual([]);
    for (const hit of hits) {
      const event = this.given(hit.job_id).get(idOf(hit.record));
      expect(hit.record).toEqual(event && shippedAs(event, this.fieldsOf(hit.job_id)));
      for (const job of hit.also_in) expect(this.given(job).has(idOf(hit.record))).toBe(true);
    }
    const times = hits.flatMap(({ record: { EventTimestampMs: at } }) => (typeof at === "number" ? [at] : []));
    const sign = question.order === "newest" ? -1 : 1;
    expect(times).toEqual(times.toSorted((a, b) => sign * (a - b)));
    const { must } = await this.expected(question, asked, new Set());
    return { pages, question, must: new Set([...must].filter((name) => !told.has(name.split(" ")[1] ?? ""))) };
  }

  /** Of each object it is known which records it has, and all can be searched. */
  get areTold(): boolean {
    const isTold = ({ isCsv, fields, fieldNames = ["EventTimestampMs"] }: Kind): boolean =>
      !isCsv && fields?.sketches !== false && fieldNames.includes("EventTimestampMs");
    return [...this.#kinds.values()].every(isTold);
  }

  /**
   * Objects that their store will give no more, or with other bytes. @returns what is in them, and
   * what makes it so.
   */
  async spoiled(): Promise<{ lost: ReadonlySet<string>; objects: Spoiled[]; spoil: () => Promise<void> }> {
    const objects: Spoiled[] = [];
    const scripts: (() => Promise<void>)[] = [];
    for (const [{ id: job, buckets }, { isCsv }] of this.#kinds) {
      const control = buckets[0]?.control;
      if (isCsv || control === undefined) continue;
      const delivered = (await jobObjects(job)).filter(({ state }) => state === "delivered");
      const rules: Rule[] = [];
      for (const { key, number } of this.random.shuffled(delivered).slice(0, 2)) {
        const bytes = (await control.object(key)) ?? new Uint8Array();
        const member = readSingleMember((await asMember({ key, bytes })).bytes);
        if (!member.ok) throw new Error(`${key}: ${member.reason}`);
        const records = new Set(ndjson(member.raw).map((record) => `${job} ${idOf(record as Shipped)}`));
        objects.push({ job, number, records });
        const how = this.random.pick<Action>([
          { do: "answer", status: 404, code: "NoSuchKey" },
          { do: "answer", status: 200, body: "x".repeat(bytes.length) },
          { do: "answer", status: 200, body: "another object" },
        ]);
        rules.push(rule(how, { method: "GET", keyIncludes: key }));
      }
      scripts.push(() => control.script(rules));
    }
    return {
      lost: new Set(objects.flatMap(({ records }) => [...records])),
      objects,
      spoil: async () => void (await Promise.all(scripts.map((script) => script()))),
    };
  }
}

function shippedAs({ record }: Minted, fieldNames?: readonly string[]): Shipped {
  if (fieldNames === undefined) return record;
  return Object.fromEntries(fieldNames.map((name) => [name, record[name]]));
}

const nameOf = ({ job_id, record }: HitLine): string => `${job_id} ${idOf(record)}`;

/** A course from a seed. */
async function course(seed: number, run: (course: Course) => Promise<void>): Promise<Course> {
  const course = new Course(seed);
  try {
    await course.begin();
    await run(course);
    return course;
  } catch (error) {
    throw new Error(`${error}\n\n${course.trace.slice(-60).join("\n")}`, { cause: error });
  }
}

const COURSES = variants([4, 1, 2, 3], 2);

/** What a search says that it did not look at, in all pages. */
const leftOut = (pages: readonly SearchAnswer[]): { what: string; why: string }[] =>
  pages.flatMap(({ end }) => end.not_searched);

describe("a search in the midst of a service at work", () => {
  it.each(COURSES)("finds what a slow one finds, and names what it does not search: course %i", async (seed) => {
    const { hits, pages } = await course(seed, async (course) => {
      for (let steps = 0; steps < 15; steps++) {
        await course.happens();
        if (course.random.chance(0.2)) await course.compare(false);
      }
      await course.world.mend();
      await course.world.settle();
      for (let i = 0; i < 6; i++) {
        const { pages, question } = await course.compare(true);
        const named = new Set(leftOut(pages).map(({ what }) => what));
        const csv = course.unsearchable(question);
        for (const id of csv) expect([...named].join()).toContain(`job ${id}`);
        // A day that a CSV object has records of may go beyond those records.
        if (csv.length === 0 && course.areTold) expect([...named]).toEqual([]);
      }
      const { lost, objects, spoil } = await course.spoiled();
      await spoil();
      for (let i = 0; i < 6; i++) {
        const { pages, must } = await course.compare(true, lost);
        const said = leftOut(pages)
          .map(({ what }) => what)
          .join("; ");
        for (const { job, number, records } of objects) {
          if (![...must].some((name) => records.has(name))) continue;
          expect(said).toMatch(
            new RegExp(`(object ${number} of job ${job}|objects of job ${job} \\(.*\\b${number}\\b)`),
          );
          expect(pages.at(-1)?.end.complete).toBe(false);
        }
      }
    });
    expect(hits).toBeGreaterThan(10);
    expect(pages).toBeGreaterThan(10);
  });
});
