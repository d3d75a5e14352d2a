/** The page of one receiver of alerts, and what its buttons do. */

import type { Child } from "hono/jsx";
import { CODE } from "../../../../base/errors.ts";
import { HOUR_MS } from "../../../../base/time.ts";
import { plural } from "../../../../base/words.ts";
import { isTakenIn, remedyFor } from "../../../../operate/alerts/alert-answers.ts";
import type { Alert } from "../../../api/docs/alerts.ts";
import type { Tested, Webhook } from "../../../api/docs/webhook.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Form, may, Submit } from "../../parts/form.tsx";
import { Empty, Notice, Panel, Snippet } from "../../parts/panel.tsx";
import { deletePage, type Question } from "../../parts/question.tsx";
import { AddressNoteOf, asked, FIELDS, noteQuery, type Refused, Settings } from "./settings.tsx";
import {
  ALERTS_AT,
  isMuted,
  labelOf,
  ofAlert,
  ofWebhook,
  type Receiver,
  ReceiverState,
  TestOutcome,
  untilWords,
  WEBHOOK_AT,
  Whither,
} from "./view.tsx";

/** Each receiver has these; the webhook is the one without an id. */
const pagesAt = (path: string): Page[] => [
  {
    path,
    get: { permission: "logs:read", show: (context) => oneView(context) },
    post: { permission: "logs:edit", take: change },
  },
  { path: `${path}/test`, post: { permission: "logs:edit", take: test } },
  deletePage(`${path}/delete`, "logs:edit", askToDelete, routeOf, `${ALERTS_AT}?deleted`),
];

export const oneAlertPages: readonly Page[] = [
  ...pagesAt(WEBHOOK_AT),
  ...pagesAt(`${ALERTS_AT}/:alert_id`),
  { path: `${ALERTS_AT}/:alert_id/mute`, post: { permission: "logs:edit", take: mute } },
];

function routeOf({ params: { alert_id: id } }: PageContext): string {
  return id === undefined ? "/logship/webhook" : `/logship/alerts/${encodeURIComponent(id)}`;
}

/** null: there is no webhook. @throws InnerFailure 404 for another receiver that is not there. */
async function readOne(page: PageContext): Promise<Receiver | null> {
  if (page.params.alert_id !== undefined) return ofAlert(await page.api.get<Alert>(routeOf(page)));
  const webhook = await page.api.get<Webhook | null>(routeOf(page));
  return webhook && ofWebhook(webhook);
}

/** @throws InnerFailure 404 if it is not there. */
async function requireOne(context: PageContext): Promise<Receiver> {
  const receiver = await readOne(context);
  if (receiver !== null) return receiver;
  throw new InnerFailure(404, [{ code: CODE.noRoute, message: "there is no webhook" }]);
}

/** How a test is called: the webhook's receiver gets a call of this type. */
const testOf = ({ format }: Receiver): string => (format === "generic" ? "Test call" : "Test");

async function oneView(context: PageContext, refused: Refused | null = null, said: Child = null): Promise<View> {
  const { viewer, nowMs, query } = context;
  const receiver = await readOne(context);
  const format = receiver?.format ?? "generic";
  const { form, faults } = refused ?? { form: null, faults: NO_FAULTS };
  return {
    title: receiver?.name ?? "Webhook",
    status: refused?.status ?? 200,
    parts: [
      receiver !== null && <Done receiver={receiver} query={query} nowMs={nowMs} />,
      <AddressNoteOf format={format} query={query} />,
      said,
      <RestOf faults={faults} title="Not changed" />,
      receiver === null ? <NoWebhook /> : <StatePanel receiver={receiver} viewer={viewer} nowMs={nowMs} />,
      may(viewer, "logs:edit") && (
        <Panel id="settings" title={receiver === null ? "Set up a webhook" : "Settings"}>
          <Form viewer={viewer} action={receiver?.at ?? WEBHOOK_AT} label={labelOf(format)}>
            <Settings format={format} form={form} faults={faults} of={receiver} />
            <Submit label={receiver === null ? "Set up" : "Save"} back={ALERTS_AT}>
              {receiver !== null && <a href={`${receiver.at}/delete`}>Delete</a>}
            </Submit>
          </Form>
        </Panel>
      ),
    ],
  };
}

const NoWebhook = () => (
  <Empty title="No webhook yet">
    <p>
      Your service gets one signed call when an incident opens, and one when it is over. Calls contain no text of
      records.
    </p>
  </Empty>
);

/** What a button or form has just done. */
const Done = ({ receiver, query, nowMs }: { receiver: Receiver } & Pick<PageContext, "query" | "nowMs">) => {
  const { muted_until: until } = receiver;
  return (
    <>
      {query.has("added") && added(receiver)}
      {query.has("saved") && <Notice kind="ok" title="Saved" />}
      {query.has("muted") && isMuted(until, nowMs) && (
        <Notice kind="ok" title={`Muted until ${untilWords(until, nowMs)}`} />
      )}
      {query.has("unmuted") && <Notice kind="ok" title="No longer muted" />}
    </>
  );
};

/** How long one may mute, in hours. */
const HOURS = [1, 8, 72] as const;
const StatePanel = ({ receiver, viewer, nowMs }: { receiver: Receiver } & Pick<PageContext, "viewer" | "nowMs">) => {
  const { at, format, muted_until } = receiver;
  const mute = { viewer, action: `${at}/mute`, kind: "small" } as const;
  return (
    <Panel
      id="state"
      title="State"
      aside={
        <Action viewer={viewer} action={`${at}/test`} label={`Send a ${testOf(receiver).toLowerCase()}`} kind="small" />
      }
    >
      <ReceiverState of={receiver} nowMs={nowMs} />
      {format !== "generic" && (
        <div class="actions">
          {HOURS.map((hours) => (
            <Action
              {...mute}
              label={`Mute for ${hours === 72 ? "3 days" : plural(hours, "hour")}`}
              fields={{ hours: `${hours}` }}
            />
          ))}
          {isMuted(muted_until, nowMs) && <Action {...mute} label="Unmute" />}
        </div>
      )}
    </Panel>
  );
};

/** A new one was tested when it was added, unless something kept the test from being sent. */
function added({ last_test }: Receiver): Child {
  return (
    <>
      <Notice kind="ok" title="Added">
        {last_test === null && <p>Send a test to see it arrive.</p>}
      </Notice>
      {last_test !== null && (
        <TestOutcome
          of={{ delivered: isTakenIn(last_test), message: last_test, advice: remedyFor(last_test) }}
          what="Test"
        />
      )}
    </>
  );
}

async function change(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const { format, at } = (await readOne(context)) ?? NEW_WEBHOOK;
  const body = { ...asked(format, form), enabled: form.has("enabled") };
  const answer = await context.api.send<{ secret?: string }>("PUT", routeOf(context), body);
  if (!answer.ok) return oneView(context, { form, faults: faultsOf(answer.errors, FIELDS), status: answer.status });
  const { secret } = answer.result;
  return secret === undefined ? seeOther(`${at}?saved${noteQuery(format, form)}`) : secretView(context, secret);
}

const NEW_WEBHOOK = { format: "generic", at: WEBHOOK_AT } as const;

function secretView({ viewer }: PageContext, secret: string): View {
  return {
    title: "Webhook set up",
    parts: [
      <Notice kind="warn" title="Copy the secret now: it is shown only once">
        <p>Your service verifies calls with it. If you lose it, create a new one.</p>
      </Notice>,
      <Snippet id="secret" label="Webhook secret" text={secret} />,
      <p>
        Calls are signed according to{" "}
        <a href="https://www.standardwebhooks.com" rel="noreferrer">
          Standard Webhooks
        </a>
        ; libraries for many languages verify them.
      </p>,
      <div class="actions">
        <Action viewer={viewer} action={`${WEBHOOK_AT}/test`} label="Send a test call" kind="primary" />
        <a href={WEBHOOK_AT} data-reload>
          Back to the webhook
        </a>
      </div>,
    ],
  };
}

/** The result of a test is shown at once. */
async function test(context: PageContext): Promise<View> {
  const receiver = await requireOne(context);
  const answer = await context.api.send<Tested & { id?: string }>("POST", `${routeOf(context)}/test`);
  if (!answer.ok) {
    const view = await oneView(context, null, <Errors title="Test not sent" errors={answer.errors} />);
    return { ...view, status: answer.status };
  }
  const { id } = answer.result;
  return oneView(
    context,
    null,
    <TestOutcome of={answer.result} what={testOf(receiver)}>
      {id !== undefined && (
        <>
          {" "}
          Id of the call: <code>{id}</code>.
        </>
      )}
    </TestOutcome>,
  );
}

async function mute(context: PageContext, form: URLSearchParams): Promise<Response> {
  const { at } = await requireOne(context);
  const until = untilOf(context, form);
  await context.api.change("PUT", routeOf(context), { muted_until: until });
  return seeOther(`${at}?${until === null ? "unmuted" : "muted"}`);
}

/** null: no more. */
function untilOf({ nowMs }: PageContext, form: URLSearchParams): string | null {
  const hours = HOURS.find((each) => `${each}` === form.get("hours"));
  return hours === undefined ? null : new Date(nowMs + hours * HOUR_MS).toISOString();
}

async function askToDelete(context: PageContext): Promise<Question> {
  const receiver = await requireOne(context);
  const { at, name, format, waiting } = receiver;
  return {
    title: `Delete ${format === "generic" ? "webhook" : "alert"}`,
    back: at,
    trail: [{ href: at, label: name }],
    parts: [
      <p>
        No more alerts go to <Foreign text={name} max={120} /> (<Whither of={receiver} />)
        {format === "generic" && ", and the secret is deleted"}.{" "}
        {waiting > 0 && `${plural(waiting, "waiting call")} will be dropped.`}
      </p>,
    ],
  };
}
