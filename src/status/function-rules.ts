import { type Facts, type FunctionFacts, type KnownAttachment, SILENT, type Usual } from "./facts.ts";
import { AFTER, isQuiet, NAMED_MAX } from "./thresholds.ts";
import type { Subject } from "./types.ts";
import { counted, type Found, shown, span } from "./words.ts";

/** What is wrong with functions, those that are known for longest first; no more than {@link NAMED_MAX} of each kind. */
export function functionFindings(facts: Facts): Found[] {
  const { functions } = facts;
  return [...bounded(everyFunctionFinding(facts)), ...(functions === SILENT ? [] : unwatched(functions.notWatched))];
}

/** What is wrong with each function, however many they are. */
export function everyFunctionFinding({ functions, attachments, nowMs }: Facts): Found[] {
  const undone = attachments === SILENT ? [] : attachments.flatMap((each) => attachmentFindings(each, nowMs));
  if (functions === SILENT) return undone;
  const { each, countedUntilMs } = functions;
  const found = each.flatMap((known) => [
    ...switchedOff(known),
    ...quiet(known, countedUntilMs),
    ...neverSeen(known, nowMs),
  ]);
  return [...undone, ...found];
}

function switchedOff({ name, logging, setMs, dropped, lastEventMs }: FunctionFacts): Found[] {
  const came = lastEventMs !== null && lastEventMs >= (setMs ?? 0);
  if (logging !== "off" || dropped === 0 || !came) return [];
  return [
    {
      kind: "function_off",
      subject: { type: "function", name },
      severity: "warning",
      sinceMs: setMs,
      affected: { count: dropped, what: "events" },
      summary: `Logging of ${shown(name)} is off, and its events come: ${counted(dropped, "events")} were dropped since yesterday began (UTC).`,
      advice:
        'PATCH /functions/scripts/{name}/script-settings with {"logship": true} switches it on; if it is meant to be off, take it off the tail consumers of the function, which costs less. What was dropped is gone.',
    },
  ];
}

function quiet({ name, logging, usual }: FunctionFacts, untilMs: number): Found[] {
  if (usual === null || logging === "off" || !isQuiet(usual, untilMs)) return [];
  return [
    {
      kind: "function_quiet",
      subject: { type: "function", name },
      severity: "warning",
      sinceMs: usual.lastMs,
      affected: null,
      summary: `No event of ${shown(name)} has come for longer than is usual: ${pauses(usual)}.`,
      advice:
        "Look whether it runs, and whether a later deployment left out its tail consumer. If it is gone for good, DELETE /functions/scripts/{name}; nothing is said of it then, nor when it was quiet for thirty days.",
    },
  ];
}

function pauses({ longestGapMs }: Usual): string {
  return `its longest pause in the fourteen days before was ${span(longestGapMs)}`;
}

function neverSeen({ name, logging, setMs, lastEventMs, usual }: FunctionFacts, nowMs: number): Found[] {
  const isNew = setMs === null || nowMs - setMs <= AFTER.neverSeen;
  if (logging !== "on" || isNew || lastEventMs !== null || usual !== null) return [];
  return [
    {
      kind: "function_never_seen",
      subject: { type: "function", name },
      severity: "warning",
      sinceMs: setMs,
      affected: null,
      summary: `Logging of ${shown(name)} is on, and no event of it has come in thirty days, or ever.`,
      advice:
        "Look whether it is deployed with this service as tail consumer, and whether it is called. If it is gone, DELETE /functions/scripts/{name}.",
    },
  ];
}

/** One that is gone is not missed here: somebody removed it from the platform, and what came of it will be found to be quiet. */
function attachmentFindings({ script, state, sinceMs, why }: KnownAttachment, nowMs: number): Found[] {
  const common = { subject: { type: "function", name: script }, sinceMs, affected: null } as const;
  if (state === "undone")
    return [
      {
        kind: "attachment_undone",
        severity: "error",
        ...common,
        summary: `${shown(script)} is not attached any more: ${why}.`,
        advice:
          'Deploy it with `"tail_consumers": [{ "service": "logship" }]` in its project file, or upload it with `"logship": true`. What it logs meanwhile is not shipped.',
      },
    ];
  if (state === "unknown" && nowMs - sinceMs > AFTER.attachmentUnknown)
    return [
      {
        kind: "attachment_unknown",
        severity: "warning",
        ...common,
        summary: `Nobody can tell whether ${shown(script)} is still attached: ${why}.`,
        advice:
          "Look whether the platform's API answers, and whether the bearer that it is asked with is still good. It is asked again by itself.",
      },
    ];
  return [];
}

function unwatched(count: number): Found[] {
  if (count === 0) return [];
  return [
    {
      kind: "functions_not_watched",
      subject: { type: "account" },
      severity: "warning",
      sinceMs: null,
      affected: null,
      summary: `Events come under more names than can be learned: of ${counted(count, "functions")}, nobody would notice that they are quiet.`,
      advice:
        "If the names are made up by a sender, have it use one; those that have been coming for longest are watched all the same.",
    },
  ];
}

/** At most so many of each kind; of the others, one finding says how many they are. */
function bounded(found: readonly Found[]): Found[] {
  const byKind = Map.groupBy(found, ({ kind }) => kind);
  const kept: Found[] = [];
  let more = 0;
  for (const each of byKind.values()) {
    kept.push(...each.slice(0, NAMED_MAX));
    more += Math.max(0, each.length - NAMED_MAX);
  }
  if (more === 0) return kept;
  const subject: Subject = { type: "account" };
  return [
    ...kept,
    {
      kind: "functions_more",
      subject,
      severity: "warning",
      sinceMs: null,
      affected: null,
      summary: `The same is to be said of ${counted(more, "functions")} beside those that are named.`,
      advice: "See to those that are named first; GET /functions/scripts lists all of them.",
    },
  ];
}
