import type { Tested } from "../../../api/docs/webhook.ts";
import type { InnerAnswer } from "../../inner-api.ts";
import { formPage, type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { type Faults, faultsOf, NO_FAULTS, RestOf, unnamed } from "../../parts/faults.tsx";
import { Action, Check, Confirm, Field, Form, Submit } from "../../parts/form.tsx";
import { Empty, Notice, Panel, Snippet } from "../../parts/panel.tsx";
import { plural } from "../../parts/values.tsx";
import { TestOutcome, WebhookPanel, type WebhookView } from "./webhook-view.tsx";

const AT = "/status/webhook";
const TRAIL = [
  { href: "/status", label: "Status" },
  { href: "/status/alerts", label: "Alerts" },
] as const;

export const webhookPages: readonly Page[] = [
  formPage(AT, "logs:edit", async (context) => formView(context, await stored(context)), save),
  { path: `${AT}/test`, post: { permission: "logs:edit", take: test } },
  formPage(`${AT}/delete`, "logs:edit", deleteView, remove),
];

const stored = ({ api }: PageContext): Promise<WebhookView | null> => api.get<WebhookView | null>("/logship/webhook");

/** A rejected form. */
interface Refused {
  form: URLSearchParams;
  faults: Faults;
  status: number;
}

function formView(context: PageContext, state: WebhookView | null, refused: Refused | null = null): View {
  const { viewer, nowMs, query } = context;
  const { form, faults } = refused ?? { form: null, faults: NO_FAULTS };
  const sent = form?.get("url") ?? "";
  return {
    title: "Webhook",
    section: "status",
    status: refused?.status ?? 200,
    trail: TRAIL,
    parts: [
      query.has("saved") && <Notice kind="ok" title="Saved" />,
      <RestOf faults={faults} title="Webhook not changed" />,
      sent !== "" && sent !== state?.url && (
        <Notice kind="warn" title="Enter the address again">
          <p>The address that you entered is not shown again: its path may be secret.</p>
        </Notice>
      ),
      state === null ? (
        <Empty title="No webhook yet">
          <p>
            Your receiver gets one signed call when an incident opens, and one when it is over. Calls contain no text of
            records.
          </p>
        </Empty>
      ) : (
        <Panel
          id="state"
          title="State"
          aside={<Action viewer={viewer} action={`${AT}/test`} label="Send a test call" kind="small" />}
        >
          <WebhookPanel state={state} nowMs={nowMs} />
        </Panel>
      ),
      <Panel id="settings" title={state === null ? "Set up a webhook" : "Settings"}>
        <Form viewer={viewer} action={AT} label="Webhook">
          <Field
            name="url"
            type="text"
            label="Address"
            value={state?.url ?? ""}
            error={faults.at("url")}
            hint={
              state === null
                ? "https, on a public host. Stored encrypted and shown masked."
                : "Leave it masked to keep it. A new address gets a call for every open incident."
            }
            autocomplete="off"
            spellcheck={false}
            required
          />
          <Check
            name="enabled"
            label="Enabled"
            checked={form === null ? (state?.enabled ?? true) : form.has("enabled")}
            hint="Incidents that open and end while it is off are not reported."
          />
          {state !== null && (
            <Check
              name="rotate"
              label="Create a new secret"
              checked={form?.has("rotate") ?? false}
              hint="Shown once. For a day, calls are signed with both secrets."
            />
          )}
          <Submit label={state === null ? "Set up" : "Save"} back="/status">
            {state !== null && <a href={`${AT}/delete`}>Delete</a>}
          </Submit>
        </Form>
      </Panel>,
    ],
  };
}

async function save(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const answer = await context.api.send<WebhookView & { secret?: string }>("PUT", "/logship/webhook", {
    url: (form.get("url") ?? "").trim(),
    enabled: form.has("enabled"),
    ...(form.has("rotate") && { rotate: true }),
  });
  if (!answer.ok)
    return formView(context, await stored(context), {
      form,
      faults: unnamed(faultsOf(answer.errors, ["url", "enabled", "rotate"])),
      status: answer.status,
    });
  const { secret } = answer.result;
  if (secret === undefined) return seeOther(`${AT}?saved`);
  return {
    title: "Webhook set up",
    section: "status",
    trail: TRAIL,
    parts: [
      <Notice kind="warn" title="Copy the secret now: it is shown only once">
        <p>The receiver verifies calls with it. If it is lost, create a new one.</p>
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
        <Action viewer={context.viewer} action={`${AT}/test`} label="Send a test call" kind="primary" />
        <a href={AT} data-reload>
          Back to the webhook
        </a>
      </div>,
    ],
  };
}

/** The result of a test is shown at once, and nowhere else. */
async function test(context: PageContext): Promise<View> {
  const answer = await context.api.send<Tested & { id: string }>("POST", "/logship/webhook/test");
  const state = await stored(context);
  const view = formView(context, state);
  return { ...view, status: answer.ok ? 200 : answer.status, parts: [<Outcome answer={answer} />, ...view.parts] };
}

const Outcome = ({ answer }: { answer: InnerAnswer<Tested & { id: string }> }) => {
  if (!answer.ok) return <Errors title="Test call not sent" errors={answer.errors} />;
  return (
    <TestOutcome of={answer.result} what="Test call">
      {" "}
      Id of the call: <code>{answer.result.id}</code>.
    </TestOutcome>
  );
};

async function deleteView(context: PageContext): Promise<View> {
  const state = await stored(context);
  if (state === null) return { ...formView(context, state), status: 404 };
  return {
    title: "Delete webhook",
    section: "status",
    trail: [...TRAIL, { href: AT, label: "Webhook" }],
    parts: [
      <Panel id="state" title="Webhook">
        <WebhookPanel state={state} nowMs={context.nowMs} />
      </Panel>,
      <p>
        No more alerts are sent, and the secret is deleted.{" "}
        {state.waiting > 0 && `${plural(state.waiting, "waiting call")} will be dropped.`}
      </p>,
      <Confirm viewer={context.viewer} action={`${AT}/delete`} label="Delete webhook" back={AT} />,
    ],
  };
}

async function remove({ api }: PageContext): Promise<Response> {
  await api.change("DELETE", "/logship/webhook");
  return seeOther("/status/alerts?deleted");
}
