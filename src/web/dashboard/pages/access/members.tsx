import { notHeld, ROLE_NAMES, ROLES, type Role } from "../../../../state/access/roles.ts";
import { formPage, type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Field, Form, type Option, Select, Submit } from "../../parts/form.tsx";
import { Facts, Notice, Panel, Snippet } from "../../parts/panel.tsx";
import { deletePage, type Question } from "../../parts/question.tsx";
import { Time } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { isOwn, oneOf } from "./lists.tsx";
import { Beyond, type MemberView, Permissions, Roles } from "./words.tsx";

export const memberPages: readonly Page[] = [
  formPage("/access/members", "access:edit", async (context) => addView(context), add),
  formPage("/access/members/:id", "access:edit", (context) => changeView(context), change),
  deletePage("/access/members/:id/delete", "access:edit", askToRemove, routeOf, "/access?gone=member"),
];

/** The roles as options. Those with permissions that the viewer lacks are disabled, and say why. */
function rolesFor({ caller }: Viewer): Option[] {
  return ROLE_NAMES.map((role) => {
    const missing = notHeld(caller, ROLES[role]);
    return missing.length === 0
      ? { value: role, label: role }
      : { value: role, label: `${role} (you lack ${missing.join(", ")})`, disabled: true };
  });
}

/** The default: the role with the fewest permissions. */
const LEAST: Role = "Log Share Reader";

function addView({ viewer }: PageContext, sent = new URLSearchParams(), faults = NO_FAULTS, status = 200): View {
  return {
    title: "Add member",
    status,
    parts: [
      <RestOf faults={faults} title="Member not added" />,
      <Form viewer={viewer} action="/access/members" label="Add member">
        <Field
          name="email"
          type="email"
          label="E-mail address"
          value={sent.get("email") ?? ""}
          error={faults.at("email")}
          hint="You sign in with it and the key. You cannot change it later. logship sends no mail to it."
          required
          maxlength={254}
          autocomplete="off"
        />
        <Select
          name="role"
          label="Role"
          options={rolesFor(viewer)}
          value={sent.get("role") ?? LEAST}
          error={faults.at("role")}
        />
        <Submit label="Add member" back="/access" />
      </Form>,
      <RolesPanel />,
    ],
  };
}

const RolesPanel = () => (
  <Panel id="roles" title="Roles">
    <Roles />
  </Panel>
);

async function add(context: PageContext, form: URLSearchParams): Promise<View> {
  const answer = await context.api.send<MemberView & { api_key: string }>("POST", "/members", {
    email: (form.get("email") ?? "").trim(),
    role: form.get("role") ?? "",
  });
  if (!answer.ok) return addView(context, form, faultsOf(answer.errors, ["email", "role"]), answer.status);
  const { api_key, ...member } = answer.result;
  return {
    title: "Member added",
    parts: [
      <Notice kind="warn" title="Copy the key now: it is shown only once">
        <p>
          Share it over a private channel. logship stores only a hash: for a lost key, remove the member and add them
          again.
        </p>
      </Notice>,
      <Snippet id="secret" label="API key" text={api_key} />,
      <Panel id="about" title="Member">
        <MemberFacts member={member} />
        <p>
          They sign in with the address and this key. Programs send both as <code>X-Auth-Email</code> and{" "}
          <code>X-Auth-Key</code>.
        </p>
      </Panel>,
      <p>
        <a href="/access" data-reload>
          Back to all members
        </a>
      </p>,
    ],
  };
}

const MemberFacts = ({ member }: { member: MemberView }) => (
  <Facts
    rows={[
      ["E-mail address", <Foreign text={member.email} max={254} />],
      ["Role", member.role],
      ["Permissions", <Permissions of={member.permissions} />],
      ["Added", <Time at={member.created_on} />],
      ["Id", <code>{member.id}</code>],
    ]}
  />
);

/** @param sent the rejected role; absent: nothing was sent yet. */
async function changeView(context: PageContext, sent?: string, faults = NO_FAULTS, status = 200): Promise<View> {
  const { viewer, params, query } = context;
  const member = await oneOf<MemberView>(context, "/members", params.id ?? "");
  const at = `/access/members/${member.id}`;
  return {
    title: "Change member",
    status,
    parts: [
      query.has("saved") && <Notice kind="ok" title={`Role changed to ${member.role}`} />,
      isOwn(viewer, "member", member.id) && (
        <Notice kind="warn" title="This is you: with another role you may lose access to this page" />
      ),
      <Beyond viewer={viewer} of={member.permissions} />,
      <RestOf faults={faults} title="Role not changed" />,
      <Panel id="about" title="Member">
        <MemberFacts member={member} />
      </Panel>,
      <Form viewer={viewer} action={at} label="Role">
        <Select
          name="role"
          label="Role"
          options={rolesFor(viewer)}
          value={sent ?? member.role}
          error={faults.at("role")}
          hint="Applies from their next request."
        />
        <Submit label="Change role">
          <a href={`${at}/delete`}>
            Remove<span class="unseen"> {visible(member.email)}</span>
          </a>
        </Submit>
      </Form>,
      <RolesPanel />,
    ],
  };
}

function routeOf({ params }: PageContext): string {
  return `/members/${encodeURIComponent(params.id ?? "")}`;
}

async function change(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const role = form.get("role") ?? "";
  const answer = await context.api.send<MemberView>("PUT", routeOf(context), { role });
  if (answer.ok) return seeOther(`/access/members/${answer.result.id}?saved`);
  return changeView(context, role, faultsOf(answer.errors, ["role"]), answer.status);
}

async function askToRemove(context: PageContext): Promise<Question> {
  const member = await oneOf<MemberView>(context, "/members", context.params.id ?? "");
  return {
    title: "Remove member",
    back: `/access/members/${member.id}`,
    parts: [
      isOwn(context.viewer, "member", member.id) && (
        <Notice kind="warn" title="This is you: removing yourself signs you out" />
      ),
      <Beyond viewer={context.viewer} of={member.permissions} />,
      <Panel id="about" title="Member">
        <MemberFacts member={member} />
      </Panel>,
      <p>
        Their key stops working at once, and their sessions end. Tokens that they created stay, and so do their entries
        in the audit.
      </p>,
    ],
  };
}
