import { PERMISSIONS } from "../../../../state/access/roles.ts";
import { formPage, type Page, type PageContext, type View } from "../../page.ts";
import { faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Check, Field, Form, may, Submit } from "../../parts/form.tsx";
import { Facts, Notice, Panel, Snippet } from "../../parts/panel.tsx";
import { deletePage, type Question } from "../../parts/question.tsx";
import { Time } from "../../parts/values.tsx";
import { isOwn, oneOf } from "./lists.tsx";
import { Beyond, OPENS, Permissions, type TokenView } from "./words.tsx";

export const tokenPages: readonly Page[] = [
  formPage("/access/tokens", "access:edit", async (context) => formView(context), create),
  deletePage("/access/tokens/:id/delete", "access:edit", askToDelete, routeOf, "/access?gone=token"),
];

function formView({ viewer }: PageContext, sent = new URLSearchParams(), faults = NO_FAULTS, status = 200): View {
  const chosen = sent.getAll("permission");
  return {
    title: "Create token",
    status,
    parts: [
      <RestOf faults={faults} title="Token not created" />,
      <Form viewer={viewer} action="/access/tokens" label="Create token">
        <Field
          name="name"
          label="Name"
          value={sent.get("name") ?? ""}
          error={faults.at("name")}
          hint="Its purpose or its owner. At most 120 characters."
          required
          maxlength={120}
          autocomplete="off"
        />
        <fieldset>
          <legend>Permissions</legend>
          {faults.at("permissions") !== undefined && <p class="error">{faults.at("permissions")}</p>}
          {PERMISSIONS.map((permission) => (
            <Check
              name="permission"
              id={`permission-${permission.replace(":", "-")}`}
              value={permission}
              label={<code>{permission}</code>}
              checked={chosen.includes(permission)}
              disabled={!may(viewer, permission)}
              hint={
                may(viewer, permission) ? OPENS[permission] : `${OPENS[permission]} You cannot grant it: you lack it.`
              }
            />
          ))}
        </fieldset>
        <Field
          name="expires_on"
          type="date"
          label="Last valid day (optional)"
          value={sent.get("expires_on") ?? ""}
          error={faults.at("expires_on")}
          hint="Expires at midnight UTC after this day. Empty: valid until deleted."
        />
        <Submit label="Create token" back="/access" />
      </Form>,
    ],
  };
}

async function create(context: PageContext, form: URLSearchParams): Promise<View> {
  const day = (form.get("expires_on") ?? "").trim();
  const answer = await context.api.send<TokenView & { value: string }>("POST", "/tokens", {
    name: form.get("name") ?? "",
    permissions: form.getAll("permission"),
    expires_on: day === "" ? null : dayEnd(day),
  });
  if (!answer.ok)
    return formView(context, form, faultsOf(answer.errors, ["name", "permissions", "expires_on"]), answer.status);
  const { value, ...token } = answer.result;
  return {
    title: "Token created",
    parts: [
      <Notice kind="warn" title="Copy the token now: it is shown only once">
        <p>logship stores only a hash. If you lose the token, delete it and create another.</p>
      </Notice>,
      <Snippet id="secret" label="Token" text={value} />,
      <Panel id="about" title="Details">
        <TokenFacts token={token} />
        <p>
          Programs send it as <code>Authorization: Bearer …</code>; people sign in with it here.{" "}
          <a href="/docs">API reference</a>
        </p>
      </Panel>,
      <p>
        <a href="/access" data-reload>
          Back to all tokens
        </a>
      </p>,
    ],
  };
}

/** The last moment of a day, UTC. Any other text stays as it is, and the API rejects it. */
function dayEnd(day: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(day) ? `${day}T23:59:59.999Z` : day;
}

function routeOf({ params }: PageContext): string {
  return `/tokens/${encodeURIComponent(params.id ?? "")}`;
}

async function askToDelete(context: PageContext): Promise<Question> {
  const token = await oneOf<TokenView>(context, "/tokens", context.params.id ?? "");
  return {
    title: "Delete token",
    back: "/access",
    parts: [
      isOwn(context.viewer, "token", token.id) && (
        <Notice kind="warn" title="You are signed in with this token: deleting it signs you out" />
      ),
      <Beyond viewer={context.viewer} of={token.permissions} />,
      <Panel id="about" title="Token">
        <TokenFacts token={token} />
      </Panel>,
      <p>
        logship rejects requests and events with this token at once, and ends its sessions. Changes made with it stay.
      </p>,
    ],
  };
}

const TokenFacts = ({ token }: { token: TokenView }) => (
  <Facts
    rows={[
      ["Name", <Foreign text={token.name} max={120} />],
      ["Permissions", <Permissions of={token.permissions} />],
      ["Valid until", token.expires_on === null ? "deleted" : <Time at={token.expires_on} />],
      ["Created", <Time at={token.issued_on} />],
      ["Id", <code>{token.id}</code>],
    ]}
  />
);
