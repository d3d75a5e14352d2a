import { answered } from "../../../../base/platform.ts";
import { plural } from "../../../../base/words.ts";
import { accessRegister } from "../../../../state/access/register.ts";
import { type Page, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Form } from "../../parts/form.tsx";
import { Facts, Notice, Panel } from "../../parts/panel.tsx";
import { Time } from "../../parts/values.tsx";
import { REGISTER_MS } from "../../session.ts";
import { Permissions } from "./words.tsx";

export const sessionPages: readonly Page[] = [
  { path: "/session", get: { permission: null, show: sessionView } },
  { path: "/session/others", post: { permission: null, take: closeOthers } },
];

const KINDS: Readonly<Record<string, string>> = {
  admin: "admin, with ADMIN_TOKEN",
  token: "token",
  member: "member",
};

async function sessionView({ viewer, query }: PageContext): Promise<View> {
  const { caller } = viewer;
  const closed = query.get("closed") ?? "";
  return {
    title: "Your session",
    parts: [
      /^\d{1,4}$/.test(closed) && (
        <Notice
          kind="ok"
          title={
            closed === "0"
              ? "No other sessions."
              : `${plural(Number(closed), "other session was", "other sessions were")} signed out.`
          }
        />
      ),
      <Panel id="you" title="You">
        <Facts
          rows={[
            ["Name", <Foreign text={caller.name} max={254} />],
            ["Signed in as", KINDS[caller.kind] ?? caller.kind],
            ["Permissions", <Permissions of={[...caller.permissions]} />],
            ["Signed in until", <Time at={viewer.expiresMs} />],
          ]}
        />
      </Panel>,
      <Panel id="others" title="Other sessions">
        <p>Signs you out everywhere else. The token or key stays valid: if it may have leaked, delete it.</p>
        <Form viewer={viewer} action="/session/others">
          <button type="submit">Sign out my other sessions</button>
        </Form>
      </Panel>,
    ],
  };
}

async function closeOthers({ env, viewer }: PageContext): Promise<Response> {
  const closed: number = await answered(
    "the access register",
    REGISTER_MS,
    accessRegister(env.ACCESS).closeOtherSessions(viewer.sessionHash),
  );
  return seeOther(`/session?closed=${closed}`);
}
