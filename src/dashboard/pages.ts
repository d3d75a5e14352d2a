import type { Page } from "./page.ts";
import { accessPages } from "./pages/access.tsx";
import { findPages } from "./pages/find.tsx";
import { functionPages } from "./pages/functions.tsx";
import { jobPages } from "./pages/job/job.tsx";
import { jobsPages } from "./pages/jobs.tsx";
import { livePages } from "./pages/live.tsx";
import { overviewPages } from "./pages/overview.tsx";
import { searchPages } from "./pages/search/search.tsx";
import { asidePages } from "./pages/set-aside.tsx";
import { createPages } from "./pages/shipping/create.tsx";
import { editPages } from "./pages/shipping/edit.tsx";
import { statusPages } from "./pages/status.tsx";

/** All pages but sign-in. Of two that match a path, the first wins. */
export const PAGES: readonly Page[] = [
  ...overviewPages,
  ...jobsPages,
  ...createPages,
  ...editPages,
  ...jobPages,
  ...functionPages,
  ...livePages,
  ...searchPages,
  ...asidePages,
  ...accessPages,
  ...statusPages,
  ...findPages,
];
