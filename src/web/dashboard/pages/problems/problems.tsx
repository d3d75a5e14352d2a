import type { Page } from "../../page.ts";
import { problemsView } from "./list.tsx";
import { decide, problemView } from "./one.tsx";

export const problemPages: readonly Page[] = [
  { path: "/problems", get: { permission: "logs:read", show: problemsView } },
  {
    path: "/problems/:problem_id",
    get: { permission: "logs:read", show: problemView },
    post: { permission: "logs:edit", take: decide },
  },
];
