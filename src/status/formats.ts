/**
 * What an alert looks like to each kind of receiver. Pure. Names of functions are their senders'
 * words: no receiver may read them as markup, as a link, or as a mention.
 */
import type { CallBody } from "./call-body.ts";
import type { Subject } from "./types.ts";

export const FORMATS = ["slack", "discord", "pagerduty", "opsgenie", "email"] as const;
export type FormatName = (typeof FORMATS)[number];

/** One request. */
export interface Post {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** An e-mail in plain text. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Where an alert goes. Both are secret. */
export interface Address {
  /** For e-mail, the recipient. */
  url: string;
  /** Of receivers that take one; else "". */
  key: string;
}

export interface Format {
  /** As a person calls it. */
  label: string;
  /** What stands in `url`, and where it comes from. */
  address: string;
  /** The address where none is given. */
  url: string | null;
  /** What `key` is; null: there is none. */
  key: { label: string; pattern: RegExp; form: string } | null;
  /** In order; each has to be taken. @param alert as {@link readCall}. */
  write(alert: CallBody, to: Address): readonly Post[] | Mail;
}

export function readCall(body: string): CallBody {
  return JSON.parse(body) as CallBody;
}

/** In characters; what is longer is cut. Each limit is the receiver's. */
const LIMITS = {
  /** https://docs.slack.dev/reference/block-kit/blocks/header-block */
  slackHeader: 150,
  /** https://docs.slack.dev/reference/block-kit/blocks/section-block */
  slackText: 3_000,
  /** https://docs.discord.com/developers/resources/message#embed-object-embed-limits */
  discordTitle: 256,
  discordText: 4_096,
  /** https://developer.pagerduty.com/docs/send-alert-event */
  pagerdutySummary: 1_024,
  /** https://docs.opsgenie.com/docs/alert-api */
  opsgenieMessage: 130,
  opsgenieText: 15_000,
  /** Of a subject line. RFC 5322, section 2.1.1, leaves 998 for all of it. */
  mailSubject: 200,
} as const;

export const FORMAT: Readonly<Record<FormatName, Format>> = {
  slack: {
    label: "Slack",
    address: "Its incoming webhook, https://hooks.slack.com/services/… (or Mattermost's)",
    url: null,
    key: null,
    write: (alert, to) => [
      post(to.url, {
        // For the notification; the message itself is the blocks, whose text is plain.
        text: slackEscaped(cut(headline(alert), LIMITS.slackHeader)),
        blocks: [
          {
            type: "header",
            text: { type: "plain_text", text: cut(headline(alert), LIMITS.slackHeader), emoji: false },
          },
          {
            type: "section",
            text: { type: "plain_text", text: cut(lines(alert).join("\n"), LIMITS.slackText), emoji: false },
          },
        ],
      }),
    ],
  },
  discord: {
    label: "Discord",
    address: "The webhook of a channel, https://discord.com/api/webhooks/…",
    url: null,
    key: null,
    write: (alert, to) => [
      post(to.url, {
        embeds: [
          {
            title: cut(discordEscaped(headline(alert)), LIMITS.discordTitle),
            description: cut(discordEscaped(lines(alert).join("\n")), LIMITS.discordText),
            color: colourOf(alert),
          },
        ],
        // No mention counts, whatever the text says.
        allowed_mentions: { parse: [] },
      }),
    ],
  },
  pagerduty: {
    label: "PagerDuty",
    address: "Leave empty, or for the EU: https://events.eu.pagerduty.com/v2/enqueue",
    url: "https://events.pagerduty.com/v2/enqueue",
    key: {
      label: "Integration key",
      pattern: /^[0-9A-Za-z]{32}$/,
      form: "32 letters and digits, of an Events API v2 integration",
    },
    write: (alert, to) => {
      const trigger = pagerduty(alert, to, "trigger");
      const resolve = pagerduty(alert, to, "resolve");
      if (alert.type === "incident.opened") return [trigger];
      // A test calls, and takes it back.
      return alert.type === "incident.over" ? [resolve] : [trigger, resolve];
    },
  },
  opsgenie: {
    label: "Opsgenie",
    address: "Leave empty, or for the EU: https://api.eu.opsgenie.com/v2/alerts",
    url: "https://api.opsgenie.com/v2/alerts",
    key: {
      label: "API key",
      pattern: /^[0-9A-Za-z-]{16,64}$/,
      form: "16 to 64 letters, digits and hyphens, of an API integration",
    },
    write: (alert, to) => {
      const create = opsgenie(to, "", {
        message: cut(headline(alert), LIMITS.opsgenieMessage),
        alias: incidentOf(alert),
        description: cut(lines(alert).join("\n"), LIMITS.opsgenieText),
        priority: alert.data.severity === "error" ? "P2" : "P4",
        source: "logship",
      });
      const close = opsgenie(to, `/${incidentOf(alert)}/close?identifierType=alias`, { source: "logship" });
      if (alert.type === "incident.opened") return [create];
      return alert.type === "incident.over" ? [close] : [create, close];
    },
  },
  email: {
    label: "E-mail",
    address: "The recipient; the Worker's e-mail binding must allow it",
    url: null,
    key: null,
    write: (alert, to) => ({
      to: to.url,
      subject: cut(`logship: ${headline(alert)}`, LIMITS.mailSubject),
      text: `${[headline(alert), ...lines(alert)].join("\n\n")}\n`,
    }),
  },
};

function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Post {
  return { url, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** https://developer.pagerduty.com/docs/send-alert-event */
function pagerduty(alert: CallBody, { url, key }: Address, action: "trigger" | "resolve"): Post {
  const { severity, subject, kind, since, advice } = alert.data;
  return post(url, {
    routing_key: key,
    event_action: action,
    dedup_key: incidentOf(alert),
    ...(action === "trigger" && {
      payload: {
        summary: cut(headline(alert), LIMITS.pagerdutySummary),
        source: "logship",
        severity: severity ?? "info",
        timestamp: alert.timestamp,
        component: subjectWords(subject),
        class: kind,
        custom_details: { since, advice },
      },
    }),
  });
}

/** https://docs.opsgenie.com/docs/alert-api. @param path below the address. */
function opsgenie({ url, key }: Address, path: string, body: object): Post {
  const [base, query] = url.split("?", 2) as [string, string?];
  return post(`${base}${path}${query === undefined ? "" : `${path.includes("?") ? "&" : "?"}${query}`}`, body, {
    Authorization: `GenieKey ${key}`,
  });
}

/** Joins the calls of one incident at the receiver. */
function incidentOf(alert: CallBody): string {
  return alert.data.incident ?? "logship-test";
}

function headline({ type, data: { severity, summary } }: CallBody): string {
  if (type === "webhook.test") return "Test: nothing is wrong";
  return type === "incident.over" ? `Over: ${summary}` : `${severity === "error" ? "Error" : "Warning"}: ${summary}`;
}

/** What stands below the headline. */
function lines({ type, data: { subject, since, advice } }: CallBody): string[] {
  if (type === "webhook.test") return ["An alert from logship would look like this."];
  return [
    `About: ${subjectWords(subject)}. Since ${since?.slice(0, 19).replace("T", " ")} UTC.`,
    ...(type === "incident.opened" && advice !== undefined ? [advice] : []),
  ];
}

function subjectWords(subject: Subject | undefined): string {
  switch (subject?.type) {
    case "job":
      return `job ${subject.id}`;
    case "function":
      return `function ${oneLine(subject.name)}`;
    case "account":
    case undefined:
      return "the account";
  }
}

/** Summaries and advice are so already. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").replaceAll("://", ": //");
}

/** At most so many characters, none of them cut in half. */
function cut(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

/** https://docs.slack.dev/messaging/formatting-message-text#escaping */
function slackEscaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Markdown of chats as text; a zero-width space keeps `@here` from being read as a mention. */
function discordEscaped(text: string): string {
  return text.replace(/[\\*_~`|>#[\]()<-]/g, "\\$&").replaceAll("@", "@\u200b");
}

/** As Discord takes it: red, amber, green. */
function colourOf({ type, data: { severity } }: CallBody): number {
  if (type !== "incident.opened") return 0x2e9e5b;
  return severity === "error" ? 0xc62f3a : 0xd08a1e;
}
