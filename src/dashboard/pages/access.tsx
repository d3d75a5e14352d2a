import type { Page } from "../page.ts";
import { auditPages } from "./access/audit.tsx";
import { listPages } from "./access/lists.tsx";
import { memberPages } from "./access/members.tsx";
import { sessionPages } from "./access/session.tsx";
import { tokenPages } from "./access/tokens.tsx";

/** Tokens, members, the audit, and the viewer's session. */
export const accessPages: readonly Page[] = [
  ...listPages,
  ...tokenPages,
  ...memberPages,
  ...auditPages,
  ...sessionPages,
];
