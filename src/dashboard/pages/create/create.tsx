import type { Page } from "../../page.ts";
import { showDestination, takeDestination } from "./destination.tsx";
import { showFinish, takeFinish } from "./finish.tsx";
import { showOwnership, takeOwnership } from "./ownership.tsx";
import { showForm, showPreview, takeForm, takePreview } from "./shipping-steps.tsx";
import { discardDraft, duplicate, showDraft, showStart, takeStart } from "./start.tsx";

const needs = { permission: "logs:edit" } as const;

/** The way to a job, step by step. What was entered is on the server: each step can be reloaded, left, and gone on with. */
export const createPages: readonly Page[] = [
  { path: "/jobs/new", get: { ...needs, show: showStart }, post: { ...needs, take: takeStart } },
  { path: "/jobs/new/:draft", get: { ...needs, show: showDraft } },
  { path: "/jobs/new/:draft/discard", post: { ...needs, take: discardDraft } },
  {
    path: "/jobs/new/:draft/destination",
    get: { ...needs, show: showDestination },
    post: { ...needs, take: takeDestination },
  },
  ...(["records", "output"] as const).map(
    (step): Page => ({
      path: `/jobs/new/:draft/${step}`,
      get: { ...needs, show: (page) => showForm(page, step) },
      post: { ...needs, take: (page, form) => takeForm(page, step, form) },
    }),
  ),
  {
    path: "/jobs/new/:draft/preview",
    get: { ...needs, show: showPreview },
    post: { ...needs, take: (page) => takePreview(page) },
  },
  {
    path: "/jobs/new/:draft/ownership",
    get: { ...needs, show: showOwnership },
    post: { ...needs, take: takeOwnership },
  },
  {
    path: "/jobs/new/:draft/finish",
    get: { ...needs, show: showFinish },
    post: { ...needs, take: (page) => takeFinish(page) },
  },
  { path: "/jobs/:job_id/duplicate", post: { ...needs, take: (page) => duplicate(page) } },
];
