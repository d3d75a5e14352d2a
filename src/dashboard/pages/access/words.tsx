import type { FC } from "hono/jsx";
import { PERMISSIONS, type Permission, ROLE_NAMES, ROLES, type Role } from "../../../access/roles.ts";
import { Facts } from "../../parts/panel.tsx";

/** What each permission opens, in a line. */
export const OPENS: Readonly<Record<Permission, string>> = {
  "logs:read":
    "See jobs, what they delivered, their health, the status, previews and live records. Secrets are masked.",
  "logs:edit":
    "Create, change, delete and flush jobs, replay, the webhook, what is set aside. With logs:read, the API also tells the secrets of destinations.",
  "events:write": "Send events over HTTP, and nothing else: for senders.",
  "functions:read": "See functions and their settings.",
  "functions:edit": "Switch their logging, upload and delete them.",
  "access:edit": "Tokens, members, the audit. Whoever has it can pass on everything else that they have.",
};

/** What there is of one token, as the API says. */
export interface TokenView {
  id: string;
  name: string;
  permissions: readonly Permission[];
  status: "active" | "expired";
  expires_on: string | null;
  issued_on: string;
}

export interface MemberView {
  id: string;
  email: string;
  role: Role;
  permissions: readonly Permission[];
  created_on: string;
  modified_on: string;
}

/** Where the pages of access begin. */
export const TRAIL = [{ href: "/access", label: "Access" }] as const;

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

/** The roles, and what each stands for. */
export const Roles: FC = () => (
  <Facts rows={ROLE_NAMES.map((role) => [role, <Permissions of={ROLES[role]} />] as const)} />
);
