import type { InnerAnswer } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { type Faults, faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Check, Field, Form } from "../../parts/form.tsx";
import { Empty, Notice, Panel, Snippet } from "../../parts/panel.tsx";
import { plural } from "../../parts/values.tsx";
import { WebhookPanel, type WebhookView } from "./webhook-view.tsx";

const AT = "/status/webhook";
const TRAIL = [{ href: "/status", label: "Status" }] as const;

export const webhookPages: readonly Page[] = [
  {
    path: AT,
    get: { permission: "logs:edit", show: async (context) => formView(context, await stored(context)) },
    post: { permission: "logs:edit", take: save },
  },
  { path: `${AT}/test`, post: { permission: "logs:edit", take: test } },
  {
    path: `${AT}/delete`,
    get: { permission: "logs:edit", show: deleteView },
    post: { permission: "logs:edit", take: remove },
  },
];

const stored = ({ api }: PageContext): Promise<WebhookView | null> => api.get<WebhookView | null>("/logship/webhook");

/** What was sent and refused. */
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
      query.has("saved") && <Notice kind="ok" title="Saved: it counts from the next call on" />,
      <RestOf faults={faults} title="The webhook was not changed" />,
      sent !== "" && sent !== state?.url && (
        <Notice kind="warn" title="The address that you entered is not on this page any more">
          <p>Its path may open things, so no page shows it again. Enter it once more.</p>
        </Notice>
      ),
      state === null ? (
        <Empty title="Nobody is called when something is wrong">
          <p>
            With a webhook, a receiver of yours gets one signed call when an incident begins, and one when it is over.
            No call has the text of a record.
          </p>
        </Empty>
      ) : (
        <Panel
          id="state"
          title="How it does"
          aside={
            <Action viewer={viewer} action={`${AT}/test`} label="Send a test call" needs="logs:edit" kind="small" />
          }
        >
          <WebhookPanel state={state} nowMs={nowMs} />
        </Panel>
      ),
      <Panel id="settings" title={state === null ? "Set a webhook" : "Change it"}>
        <Form viewer={viewer} action={AT} label="Webhook">
          <Field
            name="url"
            type="text"
            label="Address"
            value={state?.url ?? ""}
            error={faults.at("url")}
            hint={
              state === null
                ? "https, and a host that anybody can reach. It is kept encrypted, and shown masked from then on."
                : "Masked, as it is here, it stays what it was. Another one is told of every incident that goes on."
            }
            autocomplete="off"
            spellcheck={false}
            required
          />
          <Check
            name="enabled"
            label="Call it when something is wrong"
            checked={form === null ? (state?.enabled ?? true) : form.has("enabled")}
            hint="While it is off nothing is noted for it: an incident that begins and ends meanwhile is never told."
          />
          {state !== null && (
            <Check
              name="rotate"
              label="Make a new secret"
              checked={form?.has("rotate") ?? false}
              hint="It is shown once. Calls are signed with both for a day, so that nothing is refused meanwhile."
            />
          )}
          <div class="actions">
            <button type="submit" class="primary">
              {state === null ? "Set the webhook" : "Save"}
            </button>
            <a href="/status">Cancel</a>
            {state !== null && <a href={`${AT}/delete`}>Delete the webhook</a>}
          </div>
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
      faults: faultsOf(answer.errors, ["url", "enabled", "rotate"]),
      status: answer.status,
    });
  const { secret } = answer.result;
  if (secret === undefined) return seeOther(`${AT}?saved`);
  return {
    title: "The webhook is set",
    section: "status",
    trail: TRAIL,
    parts: [
      <Notice kind="warn" title="Copy its secret now: it is shown this once">
        <p>The receiver checks with it that calls come from here. If it is lost, make a new one.</p>
      </Notice>,
      <Snippet id="secret" label="Secret of the webhook" text={secret} />,
      <p>
        Calls are signed as{" "}
        <a href="https://www.standardwebhooks.com" rel="noreferrer">
          Standard Webhooks
        </a>{" "}
        has it; libraries for many languages check them.
      </p>,
      <div class="actions">
        <Action
          viewer={context.viewer}
          action={`${AT}/test`}
          label="Send a test call"
          needs="logs:edit"
          kind="primary"
        />
        <a href={AT} data-reload>
          Back to the webhook
        </a>
      </div>,
    ],
  };
}

interface Tested {
  id: string;
  delivered: boolean;
  status: number | null;
  message: string;
}

/** What came of a test is shown at once, and nowhere else: it is no change. */
async function test(context: PageContext): Promise<View> {
  const answer = await context.api.send<Tested>("POST", "/logship/webhook/test");
  const state = await stored(context);
  const view = formView(context, state);
  return { ...view, status: answer.ok ? 200 : answer.status, parts: [<Outcome answer={answer} />, ...view.parts] };
}

const Outcome = ({ answer }: { answer: InnerAnswer<Tested> }) => {
  if (!answer.ok) return <Errors title="No test call was made" errors={answer.errors} />;
  const { id, delivered, message } = answer.result;
  return (
    <Notice
      kind={delivered ? "ok" : "bad"}
      title={delivered ? "The receiver took the test call" : "The receiver did not take the test call"}
    >
      <p>
        It answered: <Foreign text={message} max={400} />. The call has the id <code>{id}</code>.
      </p>
    </Notice>
  );
};

async function deleteView(context: PageContext): Promise<View> {
  const state = await stored(context);
  if (state === null) return { ...formView(context, state), status: 404 };
  return {
    title: "Delete the webhook",
    section: "status",
    trail: [...TRAIL, { href: AT, label: "Webhook" }],
    parts: [
      <Panel id="state" title="This webhook">
        <WebhookPanel state={state} nowMs={context.nowMs} />
      </Panel>,
      <p>
        Nobody is called any more when something is wrong, and its secret is forgotten.{" "}
        {state.waiting > 0 && `${plural(state.waiting, "call that waits is", "calls that wait are")} never made.`}
      </p>,
      <Form viewer={context.viewer} action={`${AT}/delete`}>
        <div class="actions">
          <button type="submit" class="danger">
            Delete the webhook
          </button>
          <a href={AT}>Keep it</a>
        </div>
      </Form>,
    ],
  };
}

async function remove({ api }: PageContext): Promise<Response> {
  await api.change("DELETE", "/logship/webhook");
  return seeOther("/status");
}
