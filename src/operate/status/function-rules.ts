import { counted } from "../../base/counted.ts";
import { sentBy } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import { cronOf } from "../../ship/log/seen-kinds.ts";
import {
  type Facts,
  type FunctionFacts,
  type FunctionsFacts,
  type KindFacts,
  type KnownAttachment,
  NO_ANSWER,
  type Usual,
} from "./facts.ts";
import { failingFindings } from "./failing.ts";
import { keyOf, type Subject } from "./finding.ts";
import { type Found, head, shown, shownSome, span } from "./finding-text.ts";
import { isKindQuiet } from "./function-kinds.ts";
import { problemFindings } from "./problem-rules.ts";
import { slowFindings } from "./slow.ts";
import { AFTER, isQuiet, NAMED_MAX, PROBLEMS_NAMED_MAX, QUIET_TIMES, SENT_NAMED_MAX } from "./thresholds.ts";

/** Findings about functions, those known for longest first, of which some are named. */
export function functionFindings(facts: Facts): Found[] {
  const { functions, failing } = facts;
  const fresh = failing === NO_ANSWER ? [] : failingFindings(failing.filter(({ isNew }) => isNew)).map(keyOf);
  return [
    bounded(withoutEchoes(everyFunctionFinding(facts), functions), new Set(fresh)),
    functions === NO_ANSWER ? [] : unwatched(functions.notWatched),
  ].flat();
}

/** The same without a bound, and with what is told by another one. */
export function everyFunctionFinding(facts: Facts): Found[] {
  const { functions, attachments, failing, slow = [], problems, nowMs } = facts;
  const fail = [
    ...(failing === NO_ANSWER ? [] : failingFindings(failing)),
    ...slowFindings(slow),
    ...(problems === NO_ANSWER ? [] : problemFindings(problems)),
  ];
  const undone = attachments === NO_ANSWER ? [] : attachments.flatMap((each) => attachmentFindings(each, nowMs));
  if (functions === NO_ANSWER) return [...fail, ...undone];
  const { each, countedUntilMs, unnamedMs } = functions;
  const found = each.flatMap((known) => [
    switchedOff(known),
    ...(mayBeUnnamed(known, unnamedMs) ? [] : [quiet(known, countedUntilMs), neverSeen(known, nowMs)]),
  ]);
  return [...fail, ...undone, ...found.flat(), ...quietKinds(functions)];
}

/**
 * One silence is told once: of a function that is quiet, not its kinds; but the one cron that is
 * all it is known to do, instead of it. What is left out is not over: see `isUnknown`.
 */
function withoutEchoes(found: readonly Found[], functions: Facts["functions"]): Found[] {
  const known = functions === NO_ANSWER ? [] : (functions.kinds ?? []);
  return [...Map.groupBy(found, ({ subject }) => JSON.stringify(subject)).values()].flatMap((of) => {
    const kinds = of.filter(({ kind }) => kind === "function_kind_quiet");
    if (kinds.length === 0 || !of.some(({ kind }) => kind === "function_quiet")) return of;
    const own = known.filter(({ name }) => of.some(({ subject }) => "name" in subject && subject.name === name));
    const echo = own.length === 1 && own[0]?.by !== "learned" ? "function_quiet" : "function_kind_quiet";
    return of.filter(({ kind }) => kind !== echo);
  });
}

function quietKinds({ each, kinds = [], countedUntilMs, unnamedMs }: FunctionsFacts): Found[] {
  const off = new Set(each.filter(({ logging }) => logging === "off").map(({ name }) => name));
  const quiets = kinds.filter(
    (known) =>
      isKindQuiet(known, countedUntilMs) &&
      !off.has(known.name) &&
      !mayBeUnnamed({ lastEventMs: known.lastMs, usual: null }, unnamedMs),
  );
  return quiets.map((known) => ({
    ...{ subject: { type: "function", name: known.name }, eventKind: known.kind, ...sentBy(known.sender) },
    ...head("function_kind_quiet", "warning", known.lastMs),
    summary: `${shown(known.name)} ${silence(known)}.`,
    advice:
      "Check that the Worker still has this trigger, and that its latest deployment runs. If it was removed on purpose, forget it through the API (PUT /functions/scripts/{name}/expect): it is expected again once it comes.",
  }));
}

function silence({ kind, by, everyMs }: KindFacts): string {
  const cron = cronOf(kind);
  const what = cron === null ? `event of kind ${shown(kind)}` : `run of its cron ${shown(cron)}`;
  if (by === "cron") return `has missed its cron ${shown(cron ?? "")} twice in a row`;
  if (by === "set")
    return `has had no ${what} for ${span(QUIET_TIMES * everyMs)}; one is expected every ${span(everyMs)}`;
  return `has had no ${what} for longer than usual; ${pauses({ longestGapMs: everyMs })}`;
}

function switchedOff({ name, logging, setMs, dropped, lastEventMs }: FunctionFacts): Found | Found[] {
  const came = lastEventMs !== null && lastEventMs >= (setMs ?? 0);
  if (logging !== "off" || dropped === 0 || !came) return [];
  return {
    subject: { type: "function", name },
    ...head("function_off", "warning", setMs, dropped, "events"),
    summary: `Logging of ${shown(name)} is off, but events arrive: logship has dropped ${counted(dropped, "events")} since the start of yesterday (UTC).`,
    advice:
      "Turn its logging on. If it should stay off, remove logship from the Worker's tail consumers to save cost. Dropped events are gone.",
  };
}

/**
 * Whether later events may have arrived without a name, because no name was left: then it may not
 * be quiet.
 */
export function mayBeUnnamed(
  { lastEventMs, usual }: Pick<FunctionFacts, "lastEventMs" | "usual">,
  unnamedMs: number | null,
): boolean {
  return unnamedMs !== null && Math.max(lastEventMs ?? 0, usual?.lastMs ?? 0) < unnamedMs;
}

function quiet({ name, sender, logging, usual }: FunctionFacts, untilMs: number): Found | Found[] {
  if (usual === null || logging === "off" || !isQuiet(usual, untilMs)) return [];
  return {
    ...{ subject: { type: "function", name }, ...sentBy(sender) },
    ...head("function_quiet", "warning", usual.lastMs),
    summary: `${shown(name)} has sent no event for longer than usual; ${pauses(usual)}.`,
    advice:
      "Check that it runs and that its latest deployment still has the tail consumer. If it is gone for good, forget it on its page under Workers; after thirty days without events this happens automatically.",
  };
}

function pauses({ longestGapMs }: Pick<Usual, "longestGapMs">): string {
  return `its longest pause in the fourteen days before was ${span(longestGapMs)}`;
}

function neverSeen({ name, logging, setMs, lastEventMs, usual }: FunctionFacts, nowMs: number): Found | Found[] {
  const isNew = setMs === null || nowMs - setMs <= AFTER.neverSeen;
  if (logging !== "on" || isNew || lastEventMs !== null || usual !== null) return [];
  return {
    subject: { type: "function", name },
    ...head("function_never_seen", "warning", setMs),
    summary: `Logging of ${shown(name)} is on, but no event has arrived in the last thirty days.`,
    advice:
      "Check that it is deployed with logship as tail consumer, and that it is called. If it is gone, forget it on its page under Workers.",
  };
}

/** A script that is gone from the platform is no finding here; its silence becomes one. */
function attachmentFindings({ script, state, sinceMs, why }: KnownAttachment, nowMs: number): Found | Found[] {
  const subject: Subject = { type: "function", name: script };
  if (state === "undone")
    return {
      ...head("attachment_undone", "error", sinceMs),
      subject,
      summary: `${shown(script)} is no longer attached: ${why}.`,
      advice:
        'Deploy it with `"tail_consumers": [{ "service": "logship" }]` in its project file, or upload it with `"logship": true`. Until then its logs are not shipped.',
    };
  if (state === "unknown" && nowMs - sinceMs > AFTER.attachmentUnknown)
    return {
      ...head("attachment_unknown", "warning", sinceMs),
      subject,
      summary: `Cannot check whether ${shown(script)} is still attached: ${why}.`,
      advice:
        "Check that Cloudflare's API answers and that your token for it is still valid. logship repeats the check.",
    };
  return [];
}

function unwatched(count: number): Found | Found[] {
  if (count === 0) return [];
  return {
    subject: { type: "account" },
    ...head("functions_not_watched", "warning"),
    summary: `Events arrive under too many Worker names, so logship does not watch ${counted(count, "Workers")} for silence.`,
    advice:
      "If a sender makes up names, have it use a fixed one. logship still watches the names that it has known longest.",
  };
}

/**
 * At most {@link NAMED_MAX} of each kind; one more finding counts the others. Of functions that a
 * sender alone names, which it may have made up, {@link SENT_NAMED_MAX}; none that came up within
 * the hour, unless it is the only one.
 */
function bounded(found: readonly Found[], fresh: ReadonlySet<string>): Found[] {
  return [...Map.groupBy(found, ({ sender }) => sender)].flatMap(([sender, own]) => {
    const { problems = [], others = [] } = Object.groupBy(own, (each) => (each.problem ? "problems" : "others"));
    const named = [others, problems].flatMap((some) => namedOf(sender, some, fresh));
    const more = own.filter((each) => !named.includes(each));
    return more.length === 0 ? named : [...named, moreFinding(sender, more)];
  });
}

function namedOf(sender: Source | undefined, own: readonly Found[], fresh: ReadonlySet<string>): readonly Found[] {
  if (own.length <= 1) return own;
  if (sender !== undefined) return own.filter((each) => !fresh.has(keyOf(each))).slice(0, SENT_NAMED_MAX);
  const max = own[0]?.problem === undefined ? NAMED_MAX : PROBLEMS_NAMED_MAX;
  return [...Map.groupBy(own, ({ kind }) => kind).values()].flatMap((each) => each.slice(0, max));
}

function moreFinding(sender: Source | undefined, found: readonly Found[]): Found {
  const names = [...new Set(found.flatMap(({ subject }) => (subject.type === "function" ? [subject.name] : [])))];
  return {
    ...{ subject: { type: "account" }, ...sentBy(sender), ...head("functions_more", "warning") },
    summary: `${counted(names.length, "Workers")}${sender === undefined ? "" : ` that ${shown(sender)} names`} have a problem and no finding of their own: ${shownSome(names)}.`,
    advice:
      "Fix the named ones first; the list of Workers shows all. If a sender makes up names, have it use fixed ones, or delete its token.",
  };
}
