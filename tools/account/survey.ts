/**
 * Every Worker of an account, as Cloudflare's API shows it: with its previews, and with the user
 * Workers of dispatch namespaces. An environment is a Worker of its own there.
 */
import * as z from "zod";
import type { Spot } from "../project-files/model.ts";
import type { Consumer, Section } from "../project-files/sections.ts";
import { plain } from "../project-files/text.ts";
import { verdictsOf } from "../project-files/verdicts.ts";
import { oddAnswer, type Platform } from "../setup/platform.ts";
import { type Refusal, SetupRefused } from "../setup/refusals.ts";

/** Calls at once. The API takes 1,200 in five minutes, and says when it wants a pause. */
const AT_ONCE = 6;

/** User Workers that are looked at in one namespace: each takes a call. */
const USER_WORKERS_MAX = 5_000;

export type Kind = "Worker" | "preview" | "user Worker";

/** `dangling`: a consumer does not exist. `unread`: it cannot be checked. */
export interface Surveyed {
  readonly name: string;
  readonly kind: Kind;
  readonly verdict: "attached" | "silent" | "dangling" | "none" | "shipper" | "unread";
  /** Why, if it is not attached. */
  readonly reasons: readonly string[];
}

export interface Survey {
  readonly rows: readonly Surveyed[];
  /** What could not be listed. */
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

export interface SurveyOptions {
  readonly platform: Platform;
  readonly account: string;
  /** The shipper's name. */
  readonly service: string;
  /** Names of Workers that are not meant to ship. */
  readonly except: readonly string[];
}

const Settings = z.object({
  logpush: z.boolean().nullish(),
  tail_consumers: z.array(z.looseObject({ service: z.string() })).nullish(),
});

const Preview = z.object({
  id: z.string(),
  name: z.string(),
  logpush: z.boolean().nullish(),
  tail_consumers: z.array(z.object({ name: z.string() })).nullish(),
});

const Namespace = z.object({ namespace_name: z.string() });
const UserWorker = z.object({ script: z.object({ id: z.string() }) });

/** @throws SetupRefused if the Workers cannot be listed. */
export async function survey({ platform, account, service, except }: SurveyOptions): Promise<Survey> {
  const workers = `/accounts/${account}/workers`;
  const { data: names } = z.array(z.object({ id: z.string() })).safeParse(await platform.list(`${workers}/scripts`));
  if (names === undefined) throw oddAnswer(`GET ${workers}/scripts`);
  const known = new Set(names.map(({ id }) => id));
  const faults = new Set<string>();
  const notes: string[] = [];
  const judge = (row: Pick<Judged, "name" | "kind" | "of">, settings: Judged["settings"]): Surveyed =>
    judged({ ...row, settings, service, known, except });

  const ofWorkers = await mapped(names, async ({ id }) => {
    const row = await readable(id, "Worker", async () => {
      const path = `${workers}/scripts/${encodeURIComponent(id)}/script-settings`;
      return judge({ name: id, kind: "Worker", of: id }, Settings.parse(await platform.call("GET", path)));
    });
    const path = `${workers}/workers/${encodeURIComponent(id)}/previews`;
    const previews = await listed(platform, path, Preview, () => false);
    if (typeof previews === "string") {
      faults.add(`previews cannot be listed: ${previews}`);
      return [row];
    }
    const rows: Surveyed[] = [];
    for (const preview of previews) {
      const name = `${id}, preview "${preview.name}"`;
      rows.push(
        await readable(name, "preview", async () => {
          // A list may leave settings out.
          const whole = preview.tail_consumers === undefined ? `${path}/${encodeURIComponent(preview.id)}` : null;
          const { logpush, tail_consumers } =
            whole === null ? preview : Preview.parse(await platform.call("GET", whole));
          const consumers = tail_consumers?.map((each) => ({ service: each.name }));
          return judge({ name, kind: "preview", of: id }, { logpush, tail_consumers: consumers });
        }),
      );
    }
    return [row, ...rows];
  });

  // The permission is that of the list above, so what is refused is most likely the product.
  const isNone = ({ kind }: Refusal): boolean => {
    if (kind === "permission_missing")
      notes.push("Cloudflare refuses to list dispatch namespaces, as for an account without Workers for Platforms");
    return kind === "permission_missing";
  };
  const spaces = await listed(platform, `${workers}/dispatch/namespaces`, Namespace, isNone);
  if (typeof spaces === "string") faults.add(`dispatch namespaces cannot be listed: ${spaces}`);
  const ofSpaces: Surveyed[] = [];
  for (const { namespace_name: space } of typeof spaces === "string" ? [] : spaces) {
    const scripts = `${workers}/dispatch/namespaces/${encodeURIComponent(space)}/scripts`;
    const users = await listed(platform, scripts, UserWorker, () => false);
    if (typeof users === "string") {
      faults.add(`user Workers of the namespace ${space} cannot be listed: ${users}`);
      continue;
    }
    if (users.length > USER_WORKERS_MAX)
      faults.add(
        `of the ${users.length} user Workers of the namespace ${space}, the first ${USER_WORKERS_MAX} were checked`,
      );
    const rows = await mapped(users.slice(0, USER_WORKERS_MAX), ({ script: { id } }) =>
      readable(`${space}/${id}`, "user Worker", async () => {
        const settings = Settings.parse(await platform.call("GET", `${scripts}/${encodeURIComponent(id)}/settings`));
        return judge({ name: `${space}/${id}`, kind: "user Worker", of: `${space}/${id}` }, settings);
      }),
    );
    ofSpaces.push(...rows);
    if (rows.some(({ verdict }) => verdict === "silent"))
      notes.push(
        `user Workers of the namespace ${space} are attached one by one: "tail_consumers": [{ "service": "${service}" }] in the metadata of each upload`,
      );
  }
  return { rows: [...ofWorkers.flat(), ...ofSpaces], faults: [...faults], notes };
}

interface Judged {
  readonly name: string;
  readonly kind: Kind;
  /** The Worker, which a preview is of; of a user Worker with its namespace. */
  readonly of: string;
  readonly settings: z.infer<typeof Settings>;
  readonly service: string;
  /** Names of the account's Workers. */
  readonly known: ReadonlySet<string>;
  readonly except: readonly string[];
}

function judged({ name, kind, of, settings, service, known, except }: Judged): Surveyed {
  const spot: Spot = { place: null, isPreviews: kind === "preview" };
  const consumers: Consumer[] = settings.tail_consumers ?? [];
  // The API says false of those that never set it, too.
  const logging = settings.logpush ? ({ value: true, name: "logpush", from: spot } as const) : null;
  const section: Section = { ...spot, raw: {}, logging, scriptName: of, consumers };
  const [found] = verdictsOf([section], service);
  const gone = consumers.filter((each) => !each.environment && !each.namespace && !known.has(each.service));
  if (gone.length > 0) {
    const reasons = gone.map((each) => `its consumer "${plain(each.service)}" does not exist in this account`);
    return {
      name,
      kind,
      verdict: "dangling",
      reasons: [...reasons, ...(found?.verdict === "silent" ? found.reasons : [])],
    };
  }
  if (found?.verdict === "attached" || found?.verdict === "shipper")
    return { name, kind, verdict: found.verdict, reasons: [] };
  if (except.includes(of)) return { name, kind, verdict: "none", reasons: ["by --except"] };
  if (found?.verdict === "silent") return { name, kind, verdict: "silent", reasons: found.reasons };
  const lost = kind === "preview" ? "; previews do not inherit that of their Worker" : "";
  return { name, kind, verdict: "silent", reasons: [`it has no consumer "${service}"${lost}`] };
}

/** The row of what could be read, or the reason why not. */
async function readable(name: string, kind: Kind, read: () => Promise<Surveyed>): Promise<Surveyed> {
  try {
    return await read();
  } catch (error) {
    return { name, kind, verdict: "unread", reasons: [sentenceOf(error)] };
  }
}

/**
 * A list, empty where there is none.
 * @returns the sentence of a refusal instead, unless it means that there is none.
 */
async function listed<T>(
  platform: Platform,
  path: string,
  item: z.ZodType<T>,
  isNone: (refusal: Refusal) => boolean,
): Promise<T[] | string> {
  try {
    return z.array(item).parse(await platform.list(path));
  } catch (error) {
    const sentence = sentenceOf(error);
    if (!(error instanceof SetupRefused)) return sentence;
    const { refusal } = error;
    const isMissing = refusal.kind === "answered" && refusal.answer.status === 404;
    return isMissing || isNone(refusal) ? [] : sentence;
  }
}

/** @throws the error, unless it is of the API. */
function sentenceOf(error: unknown): string {
  if (error instanceof z.ZodError) return "Cloudflare's answer has another form than is known";
  if (!(error instanceof SetupRefused)) throw error;
  const { refusal } = error;
  return refusal.kind === "permission_missing"
    ? `the token lacks the permission "Workers Scripts: Read" for the account ${refusal.account}`
    : error.message;
}

/** Maps with a bound on what is under way at once; keeps the order. */
async function mapped<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await map(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

const WORDS: Record<Surveyed["verdict"], string> = {
  attached: "attached",
  silent: "SILENT",
  dangling: "WRONG",
  none: "not meant to",
  shipper: "shipper",
  unread: "cannot be checked",
};

/** A survey in lines, and whether all that it found is attached. */
export function surveyLines({ rows, faults, notes }: Survey): { lines: string[]; isGood: boolean } {
  const width = Math.max(0, ...rows.map(({ name }) => plain(name).length));
  const lines = rows.flatMap(({ name, verdict, reasons: [first, ...others] }) => [
    `  ${plain(name).padEnd(width)}  ${WORDS[verdict]}${first === undefined ? "" : `: ${plain(first, 500)}`}`,
    ...others.map((reason) => `${" ".repeat(width + 4)}${plain(reason, 500)}`),
  ]);
  const count = (verdict: Surveyed["verdict"]) => rows.filter((row) => row.verdict === verdict).length;
  const kinds = (["Worker", "preview", "user Worker"] as const).flatMap((kind) => {
    const of = rows.filter((row) => row.kind === kind).length;
    return of === 0 && kind !== "Worker" ? [] : [`${of} ${kind}${of === 1 ? "" : "s"}`];
  });
  const [silent, dangling, unread] = [count("silent"), count("dangling"), count("unread")];
  const parts = [
    `${count("attached")} attached`,
    `${silent} silent`,
    ...(dangling === 0 ? [] : [`${dangling} with a consumer that does not exist`]),
    ...(count("none") === 0 ? [] : [`${count("none")} not meant to`]),
    ...(unread === 0 ? [] : [`${unread} could not be checked`]),
  ];
  return {
    lines: [
      ...lines,
      "",
      ...faults.map((fault) => `cannot be checked: ${plain(fault, 500)}`),
      ...notes.map((note) => `note: ${plain(note, 500)}`),
      `${kinds.join(", ")}: ${parts.join(", ")}.`,
    ],
    isGood: silent + dangling + unread + faults.length === 0,
  };
}
