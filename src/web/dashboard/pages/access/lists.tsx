import type { Child } from "hono/jsx";
import { CODE } from "../../../../base/errors.ts";
import type { AuditEntry } from "../../../api/docs/access.ts";
import { InnerFailure } from "../../inner-api.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { paged } from "../../parts/pager.tsx";
import { Empty, Notice, Panel, State, Table } from "../../parts/panel.tsx";
import { Ago, Time } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { Changes } from "./audit.tsx";
import { type MemberView, Permissions, type TokenView } from "./words.tsx";

export const listPages: readonly Page[] = [{ path: "/access", get: { permission: "access:edit", show: accessView } }];

const PER_PAGE = 50;

/** Changes shown here; /access/audit has all. */
const CHANGES = 5;

async function accessView(context: PageContext): Promise<View> {
  const { query, viewer, nowMs } = context;
  const [tokens, members] = await Promise.all([
    paged<TokenView>(context, "/tokens", { of: "tokens", name: "tokens", perPage: PER_PAGE }),
    paged<MemberView>(context, "/members", { of: "members", name: "members", perPage: PER_PAGE }),
  ]);
  const gone = GONE.get(query.get("gone"));
  return {
    title: "Access",
    parts: [
      gone !== undefined && <Notice kind="ok" title={gone} />,
      <Panel
        id="tokens"
        title="Tokens"
        aside={
          <a class="button primary" href="/access/tokens">
            Create token
          </a>
        }
      >
        <Tokens tokens={tokens.items} total={tokens.info.total_count} viewer={viewer} nowMs={nowMs} />
        {tokens.pager}
      </Panel>,
      <Panel
        id="members"
        title="Members"
        aside={
          <a class="button primary" href="/access/members">
            Add member
          </a>
        }
      >
        <Members members={members.items} total={members.info.total_count} viewer={viewer} />
        {members.pager}
      </Panel>,
      changes(context),
    ],
  };
}

const GONE: ReadonlyMap<string | null, string> = new Map([
  ["token", "Token deleted."],
  ["member", "Member removed."],
]);

async function changes(context: PageContext): Promise<Child> {
  const { items } = await context.api.list<AuditEntry>("/logship/audit", { page: 1, per_page: CHANGES });
  return (
    <Panel id="changes" title="Latest changes" aside={<a href="/access/audit">All changes</a>}>
      <Changes changes={items} />
    </Panel>
  );
}

const Tokens = (props: { tokens: readonly TokenView[]; total: number; viewer: Viewer; nowMs: number }) =>
  props.total === 0 ? (
    <Empty title="No tokens yet">
      <p>
        Create a token for a program, or for a person with limited permissions. The <code>ADMIN_TOKEN</code> of the
        deployment has all permissions and is not listed.
      </p>
    </Empty>
  ) : (
    <Table
      caption="Tokens"
      columns={["Token", "State", "Permissions", "Expires", "Created", ""]}
      rows={props.tokens.map((token) => [
        <>
          <Foreign text={token.name} max={120} />
          {isOwn(props.viewer, "token", token.id) && <span class="quiet"> (you)</span>}
        </>,
        token.status === "active" ? <State kind="ok">active</State> : <State kind="quiet">expired</State>,
        <Permissions of={token.permissions} />,
        token.expires_on === null ? "never" : <Ago at={token.expires_on} nowMs={props.nowMs} />,
        <Time at={token.issued_on} />,
        <a href={`/access/tokens/${token.id}/delete`}>
          Delete
          <span class="unseen">
            {" "}
            {visible(token.name)}, created {token.issued_on}
          </span>
        </a>,
      ])}
    />
  );

const Members = (props: { members: readonly MemberView[]; total: number; viewer: Viewer }) =>
  props.total === 0 ? (
    <Empty title="No members yet">
      <p>A member has an e-mail address, an API key and a role. You can change the role later.</p>
    </Empty>
  ) : (
    <Table
      caption="Members"
      columns={["Member", "Role", "Permissions", "Added", "Changed", ""]}
      rows={props.members.map((member) => [
        <>
          <Foreign text={member.email} max={254} />
          {isOwn(props.viewer, "member", member.id) && <span class="quiet"> (you)</span>}
        </>,
        member.role,
        <Permissions of={member.permissions} />,
        <Time at={member.created_on} />,
        member.modified_on === member.created_on ? "never" : <Time at={member.modified_on} />,
        <a href={`/access/members/${member.id}`}>
          Change<span class="unseen"> {visible(member.email)}</span>
        </a>,
      ])}
    />
  );

/** Whether the viewer is signed in as this. */
export function isOwn({ caller }: Viewer, kind: "token" | "member", id: string): boolean {
  return caller.kind === kind && caller.id === id;
}

/** One entry of a list by its id; the API has no route for it. @throws InnerFailure 404 */
export async function oneOf<T extends { id: string }>({ api }: PageContext, path: string, id: string): Promise<T> {
  const { items } = await api.list<T>(path);
  const found = items.find((each) => each.id === id);
  if (found === undefined) throw new InnerFailure(404, [{ code: CODE.noRoute, message: "not found" }]);
  return found;
}
