/**
 * What an alert looks like to each kind of receiver. Pure. Names of functions and jobs are other
 * people's words: no receiver may read them as markup, as a link, or as a mention.
 */
import { cut, discordEscaped, headline, lines, slackEscaped, subjectWords } from "./alert-text.ts";
import type { CallBody } from "./call-body.ts";

export const FORMATS = ["slack", "discord", "pagerduty", "opsgenie", "email"] as const;
export type FormatName = (typeof FORMATS)[number];

/** Of a receiver; the webhook's is none of {@link FORMATS}: it takes calls as they are. */
export type ReceiverFormat = FormatName | "generic";

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
  /** The key, of receivers that take one; else "". Of the webhook, what signs its calls. */
  secret: string;
}

export interface Format {
  /** As a person calls it. */
  label: string;
  /** What stands in `url`, and where it comes from. */
  address: string;
  /** The address where none is given. */
  url: string | null;
  /** What `secret` is; null: there is none. */
  key: { label: string; pattern: RegExp; form: string } | null;
  /** It opens and ends incidents by their ids: each has a message of its own. */
  isKeyed?: true;
  /** In order; each has to be taken. @param alert as {@link readCall}. */
  write(alert: CallBody, to: Address): readonly Post[] | Mail;
}

/** As of {@link Format}. */
export function isKeyed(format: ReceiverFormat): boolean {
  return format !== "generic" && FORMAT[format].isKeyed === true;
}

export function readCall(body: string): CallBody {
  return JSON.parse(body) as CallBody;
}

/** In characters; what is longer is cut. Each limit is the receiver's. */
const LIMITS = {
  /** https://docs.slack.dev/reference/block-kit/blocks/header-block */
  slackHeader: 150,
  /** Of a linked heading; there is no stated limit. */
  slackHeadline: 300,
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
        // For the notification, and all that Mattermost shows. The message itself is the blocks,
        // whose text is plain.
        text: [slackLinked(alert, slackEscaped(cut(headline(alert), LIMITS.slackHeadline))), ...slackLinks(alert)].join(
          " \u00b7 ",
        ),
        blocks: [
          slackHeading(alert),
          {
            type: "section",
            text: { type: "plain_text", text: cut(lines(alert).join("\n"), LIMITS.slackText), emoji: false },
          },
          ...slackLinks(alert).map((text) => ({ type: "section", text: { type: "mrkdwn", text } })),
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
            description: discordText(alert),
            color: colourOf(alert),
            ...(alert.data.url !== undefined && { url: alert.data.url }),
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
    isKeyed: true,
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
    isKeyed: true,
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
        source: sourceOf(alert),
        details: opsgenieDetails(alert),
      });
      const close = opsgenie(to, `/${incidentOf(alert)}/close?identifierType=alias`, { source: sourceOf(alert) });
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
      text: `${[headline(alert), ...lines(alert), ...pageLines(alert)].join("\n\n")}\n`,
    }),
  },
};

function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Post {
  return { url, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/**
 * The headline as a link, else as a header, which cannot be one.
 * https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
 */
function slackHeading(alert: CallBody): object {
  const { url } = alert.data;
  if (url === undefined)
    return {
      type: "header",
      text: { type: "plain_text", text: cut(headline(alert), LIMITS.slackHeader), emoji: false },
    };
  const text = cut(headline(alert), LIMITS.slackHeadline);
  return {
    type: "rich_text",
    elements: [{ type: "rich_text_section", elements: [{ type: "link", url, text, style: { bold: true } }] }],
  };
}

/** @param text escaped. */
function slackLinked({ data: { url } }: CallBody, text: string): string {
  return url === undefined ? text : `<${url}|${text}>`;
}

/** Further pages of the dashboard; their addresses hold nothing that is read as markup. */
function morePages({ data: { links } }: CallBody): { href: string; text: string }[] {
  const { problem, first_record } = links ?? {};
  return [
    ...(problem === undefined ? [] : [{ href: problem, text: "Problem" }]),
    ...(first_record === undefined ? [] : [{ href: first_record, text: "First record" }]),
  ];
}

/** All pages, each as a line of plain text. */
function pageLines(alert: CallBody): string[] {
  return [...morePages(alert).map(({ href, text }) => `${text}: ${href}`), alert.data.url ?? []].flat();
}

function slackLinks(alert: CallBody): string[] {
  return morePages(alert).map(({ href, text }) => `<${href}|${text}>`);
}

function discordText(alert: CallBody): string {
  const links = morePages(alert).reduce((all, { href, text }) => `${all}\n[${text}](${href})`, "");
  return cut(discordEscaped(lines(alert).join("\n")), LIMITS.discordText - links.length) + links;
}

/** Texts by name. https://docs.opsgenie.com/docs/alert-api */
function opsgenieDetails(alert: CallBody): Record<string, string> {
  const { url, kind, since, affected, job_name, version } = alert.data;
  return {
    ...(url !== undefined && { url }),
    ...Object.fromEntries(morePages(alert).map(({ href, text }) => [text, href])),
    ...(version !== undefined && { version }),
    ...(kind !== undefined && { kind }),
    ...(since !== undefined && { since }),
    ...(job_name !== undefined && { job: job_name }),
    ...(affected && { [affected.what]: `${affected.count}` }),
  };
}

/** https://developer.pagerduty.com/docs/send-alert-event */
function pagerduty(alert: CallBody, { url, secret }: Address, action: "trigger" | "resolve"): Post {
  const { severity, kind, since, advice, affected, job_name, version, url: page } = alert.data;
  return post(url, {
    routing_key: secret,
    event_action: action,
    dedup_key: incidentOf(alert),
    ...(action === "trigger" && {
      payload: {
        summary: cut(headline(alert), LIMITS.pagerdutySummary),
        source: sourceOf(alert),
        severity: severity ?? "info",
        timestamp: alert.timestamp,
        component: subjectWords(alert.data),
        class: kind,
        custom_details: { since, advice, affected, job_name, version },
      },
      client: "logship",
      ...(page !== undefined && {
        client_url: page,
        links: [{ href: page, text: "Open in logship" }, ...morePages(alert)],
      }),
    }),
  });
}

/** https://docs.opsgenie.com/docs/alert-api. @param path below the address. */
function opsgenie({ url, secret }: Address, path: string, body: object): Post {
  const [base, query] = url.split("?", 2) as [string, string?];
  return post(`${base}${path}${query === undefined ? "" : `${path.includes("?") ? "&" : "?"}${query}`}`, body, {
    Authorization: `GenieKey ${secret}`,
  });
}

/** Joins the calls of one incident at the receiver. */
function incidentOf(alert: CallBody): string {
  return alert.data.incident ?? "logship-test";
}

/** The host of the dashboard, where one is known. */
function sourceOf({ data: { url } }: CallBody): string {
  return url === undefined ? "logship" : new URL(url).host;
}

/** As Discord takes it: red, amber, green. */
function colourOf({ type, data: { severity } }: CallBody): number {
  if (type !== "incident.opened") return 0x2e9e5b;
  return severity === "error" ? 0xc62f3a : 0xd08a1e;
}
