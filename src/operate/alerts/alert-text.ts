/** The words of an alert, and what makes them harmless to each kind of receiver. Pure. */
import { clock, duration, plural, stamp } from "../../base/words.ts";
import type { Also, CallBody } from "./call-body.ts";

/** Kinds whose `affected` waits, and is not lost. Of the others it is only affected. */
const WAITING: ReadonlySet<string> = new Set([
  "parked",
  "failing",
  "lagging",
  "key_lost",
  "destination_unusable",
  "disabled_with_pending",
  "draining",
  "draining_stuck",
  "unread",
  "unmade",
  "queue_backlog",
  "replay_waiting",
]);

/** Longest name of a job in a headline, and of a job or function below it, in characters. */
const NAME_MAX = { headline: 60, line: 120 } as const;

export function headline(alert: CallBody): string {
  const { type, data } = alert;
  if (type === "webhook.test") return "Test: nothing is wrong";
  const more = alsoCount(data);
  return `${lineOf(type, data)}${more === 0 ? "" : ` And ${more} more.`}`;
}

/** What happened to one incident. */
function lineOf(type: CallBody["type"], of: Also): string {
  if (type === "incident.over") return overLine(of);
  return `${of.severity === "error" ? "Error" : "Warning"}: ${namedSummary(of)}`;
}

/** Further incidents that a message tells of. */
function alsoCount({ also = [], also_more = 0 }: CallBody["data"]): number {
  return also.length + also_more;
}

/** Names of those that are listed, and how many there are beside. */
function alsoLines(type: CallBody["type"], data: CallBody["data"]): string[] {
  const { also = [], also_more } = data;
  if (also.length === 0) return [];
  const beside = also_more === undefined ? [] : [`And ${also_more} that are not listed.`];
  return [`${alsoCount(data)} more:`, ...also.map((each) => lineOf(type, each)), ...beside];
}

/** What stands below the headline. */
export function lines({ type, data }: CallBody): string[] {
  if (type === "webhook.test") return ["Alerts from logship look like this."];
  const about = `About: ${subjectWords(data)}. Since ${stamp(data.since ?? 0, 1_000)} UTC.`;
  const also = alsoLines(type, data);
  if (type === "incident.over") return [about, ...also];
  const version = data.version === undefined ? [] : [`Version: ${cut(oneLine(data.version), NAME_MAX.line)}.`];
  return [about, ...version, ...affectedLine(data), ...(data.advice === undefined ? [] : [data.advice]), ...also];
}

/** `job 1, orders to archive`. */
export function subjectWords({ subject, job_name, receiver }: Also, most: number = NAME_MAX.line): string {
  const name = (text: string): string => cut(oneLine(text), most);
  if (receiver !== undefined) return receiver.id === 1 ? "the webhook" : `the alert "${name(receiver.name)}"`;
  switch (subject?.type) {
    case "job":
      return job_name === undefined ? `job ${subject.id}` : `job ${subject.id}, ${name(job_name)}`;
    case "function":
      return `Worker ${name(subject.name)}`;
    case "search":
      return `search ${subject.id}, ${name(subject.name)}`;
    case "account":
    case undefined:
      return "the account";
  }
}

/** The summary; the number of the job in it is followed by its name. */
function namedSummary({ summary, subject, job_name }: Also): string {
  if (subject?.type !== "job" || job_name === undefined) return summary;
  const number = new RegExp(`\\bjob ${subject.id}\\b`, "i").exec(summary);
  const name = `(${cut(oneLine(job_name), NAME_MAX.headline)})`;
  if (number === null) return `Job ${subject.id} ${name}: ${summary}`;
  const end = number.index + number[0].length;
  return `${summary.slice(0, end)} ${name}${summary.slice(end)}`;
}

/** `Over: job 1, orders to archive: lagging, 17:03 to 17:06 UTC (3 min).` */
function overLine(data: Also & Pick<CallBody["data"], "since" | "over_since">): string {
  const kind = (data.kind ?? "").replace(/^(?:function|webhook)_/, "");
  const what = kind.replace("parked", "delivery_paused").replace("set_aside", "on_hold").replaceAll("_", " ");
  const subject = subjectWords(data, NAME_MAX.headline);
  return `Over: ${[`${subject}: ${what}`, ...timesOf(data)].join(", ")}.`;
}

function timesOf({ since, over_since }: Pick<CallBody["data"], "since" | "over_since">): string[] {
  if (!since || !over_since) return [];
  const isOneDay = since.slice(0, 10) === over_since.slice(0, 10);
  const [from, to] = [since, over_since].map((at) => (isOneDay ? clock(at) : stamp(at)));
  return [`${from} to ${to} UTC (${duration(Date.parse(over_since) - Date.parse(since))})`];
}

/** `1,234 records wait.` */
function affectedLine({ kind, affected }: CallBody["data"]): string[] {
  if (!affected || affected.count === 0) return [];
  const { count, what } = affected;
  const isOne = count === 1;
  const amount = plural(count, what.replace(/s$/, ""), what);
  if (WAITING.has(kind ?? "")) return [`${amount} ${isOne ? "waits" : "wait"}.`];
  return [`${amount} ${isOne ? "is" : "are"} affected.`];
}

/** Summaries and advice are so already. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").replaceAll("://", ": //");
}

/** At most so many characters, none of them cut in half. */
export function cut(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

/**
 * Mattermost reads its own markup in the same text: a zero-width space keeps `@all` and `](` from
 * being read as a mention and as a link, and a bar would end the address of a link.
 * https://docs.slack.dev/messaging/formatting-message-text#escaping
 */
export function slackEscaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("@", "@\u200b")
    .replaceAll("](", "]\u200b(")
    .replaceAll("|", "\u00a6")
    .replace(/[*`~]/g, "\u200b$&");
}

/** Markdown of chats as text; a zero-width space keeps `@here` from being read as a mention. */
export function discordEscaped(text: string): string {
  return text.replace(/[\\*_~`|>#[\]()<-]/g, "\\$&").replaceAll("@", "@\u200b");
}
