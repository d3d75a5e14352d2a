import type { FC } from "hono/jsx";
import type * as z from "zod";
import { notHeld, PERMISSIONS, type Permission, ROLE_NAMES, ROLES } from "../../../../state/access/roles.ts";
import type { Member, Token } from "../../../api/docs/access.ts";
import { Facts, Notice } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";

/** What each permission allows. */
export const OPENS: Readonly<Record<Permission, string>> = {
  "logs:read": "See jobs, delivered objects, health, status, previews and live records. Secrets are masked.",
  "logs:edit":
    "Manage jobs, replays, the webhook and what is on hold. Together with logs:read, the API shows the secrets of destinations.",
  "events:write": "Send events over HTTP.",
  "functions:read": "See Workers and their settings.",
  "functions:edit": "Upload and delete Workers, and change their logging.",
  "access:edit": "Manage tokens and members, and see the audit. Holders can grant their own permissions to others.",
};

export type TokenView = z.infer<typeof Token>;
export type MemberView = z.infer<typeof Member>;

export const Permissions: FC<{ of: readonly Permission[] }> = ({ of }) => (
  <span>
    {PERMISSIONS.filter((each) => of.includes(each)).map((each, i) => (
      <>
        {i > 0 && ", "}
        <code>{each}</code>
      </>
    ))}
  </span>
);

/** Why the viewer may not take these permissions away; null: the viewer may. */
export const Beyond: FC<{ viewer: Viewer; of: readonly Permission[] }> = ({ viewer, of }) => {
  const missing = notHeld(viewer.caller, of);
  if (missing.length === 0) return null;
  return (
    <Notice kind="warn" title="You cannot remove permissions that you do not hold">
      <p>
        You lack <Permissions of={missing} />.
      </p>
    </Notice>
  );
};

/** The roles and their permissions. */
export const Roles: FC = () => (
  <Facts rows={ROLE_NAMES.map((role) => [role, <Permissions of={ROLES[role]} />] as const)} />
);
