import type { Page } from "./page.ts";
import { auditPages } from "./pages/access/audit.tsx";
import { listPages } from "./pages/access/lists.tsx";
import { memberPages } from "./pages/access/members.tsx";
import { sessionPages } from "./pages/access/session.tsx";
import { tokenPages } from "./pages/access/tokens.tsx";
import { alertPages } from "./pages/alerts/alerts.tsx";
import { elsewherePages } from "./pages/aside/elsewhere.tsx";
import { asideListPages } from "./pages/aside/list.tsx";
import { asideOnePages } from "./pages/aside/one.tsx";
import { resendPages } from "./pages/aside/resend.tsx";
import { findPages } from "./pages/find.tsx";
import { functionPages } from "./pages/functions.tsx";
import { incidentPages } from "./pages/incidents/one.tsx";
import { jobPages } from "./pages/job/job.tsx";
import { jobsPages } from "./pages/jobs.tsx";
import { livePages } from "./pages/live.tsx";
import { overviewPages } from "./pages/overview.tsx";
import { problemPages } from "./pages/problems/problems.tsx";
import { searchPages } from "./pages/search/search.tsx";
import { savedSearchPages } from "./pages/searches/searches.tsx";
import { createPages } from "./pages/shipping/create.tsx";
import { editPages } from "./pages/shipping/edit.tsx";
import { wrongPages } from "./pages/status/all.tsx";

/** All pages but sign-in. Of two that match a path, the first wins. */
export const PAGES: readonly Page[] = [
  ...overviewPages,
  ...jobsPages,
  ...createPages,
  ...editPages,
  ...jobPages,
  ...functionPages,
  ...problemPages,
  ...livePages,
  ...searchPages,
  ...savedSearchPages,
  ...[...asideListPages, ...resendPages, ...asideOnePages, ...elsewherePages],
  ...[...listPages, ...tokenPages, ...memberPages, ...auditPages, ...sessionPages],
  ...[...wrongPages, ...incidentPages, ...alertPages],
  ...findPages,
];
