/** What looks wrong with the address of a receiver, though it may be used. Pure. */
import { FORMAT, type FormatName } from "./alert-formats.ts";

/**
 * `other`: the host is that of another kind of receiver; `path`: the host is right, but nothing
 * takes alerts at such a path.
 */
export type AddressNote = { readonly kind: "other"; readonly host: FormatName } | { readonly kind: "path" };

/** Hosts that take one format, and the paths below which they take it. */
const KNOWN: Readonly<Record<Exclude<FormatName, "email">, { host: RegExp; path: RegExp; form: string }>> = {
  slack: {
    host: /^hooks\.slack(?:-gov)?\.com$/,
    path: /^\/(?:services|workflows|triggers)\/[^/]+\/[^/]/,
    form: "https://hooks.slack.com/services/…",
  },
  discord: {
    host: /^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/,
    path: /^\/api\/(?:v\d+\/)?webhooks\/[^/]+\/[^/]/,
    form: "https://discord.com/api/webhooks/…",
  },
  pagerduty: {
    host: /^events\.(?:eu\.)?pagerduty\.com$/,
    path: /^\/v2\/enqueue\/?$/,
    form: "https://events.pagerduty.com/v2/enqueue",
  },
  opsgenie: {
    host: /^api\.(?:eu\.)?opsgenie\.com$/,
    path: /^\/v2\/alerts\/?$/,
    form: "https://api.opsgenie.com/v2/alerts",
  },
};

const HOSTS = Object.keys(KNOWN) as (keyof typeof KNOWN)[];

/** null: nothing, or the host is not known. @param url as checked; of e-mail, the recipient. */
export function noteOn(format: FormatName, url: string): AddressNote | null {
  if (format === "email") return null;
  const { hostname, pathname } = new URL(url);
  const owner = HOSTS.find((each) => KNOWN[each].host.test(hostname));
  if (owner === undefined) return null;
  // Discord takes Slack's format there: https://docs.discord.com/developers/resources/webhook
  if (format === "slack" && owner === "discord")
    return KNOWN.discord.path.test(pathname) && /\/slack\/?$/.test(pathname) ? null : { kind: "other", host: owner };
  if (owner !== format) return { kind: "other", host: owner };
  return KNOWN[format].path.test(pathname) ? null : { kind: "path" };
}

/** The note as a sentence. */
export function noteWords(format: FormatName, note: AddressNote): string {
  if (note.kind === "other")
    return `This address belongs to ${FORMAT[note.host].label}, which does not accept the format of ${FORMAT[format].label}.`;
  const form = format === "email" ? "" : KNOWN[format].form;
  return `An address of ${FORMAT[format].label} looks like this: ${form}`;
}
