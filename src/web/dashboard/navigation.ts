import type { Permission } from "../../state/access/roles.ts";
import type { Section } from "./page.ts";

export interface Entry {
  section: Section;
  href: string;
  label: string;
  needs: Permission | null;
}

/** All pages that lead somewhere, in three groups: what happens, what is shipped, what it takes. */
export const NAVIGATION: readonly { title: string; entries: readonly Entry[] }[] = [
  {
    title: "Observe",
    entries: [
      { section: "overview", href: "/", label: "Overview", needs: null },
      { section: "search", href: "/search", label: "Search", needs: "logs:read" },
      { section: "live", href: "/live", label: "Live", needs: "logs:read" },
      { section: "functions", href: "/functions", label: "Functions", needs: "functions:read" },
    ],
  },
  {
    title: "Ship",
    entries: [
      { section: "jobs", href: "/jobs", label: "Jobs", needs: "logs:read" },
      { section: "status", href: "/status", label: "Status", needs: "logs:read" },
      { section: "set-aside", href: "/set-aside", label: "Set aside", needs: "logs:edit" },
    ],
  },
  {
    title: "Set up",
    entries: [
      { section: "attach", href: "/attach", label: "Attach", needs: null },
      { section: "cost", href: "/cost", label: "Cost", needs: "logs:read" },
      { section: "access", href: "/access", label: "Access", needs: "access:edit" },
      { section: "api", href: "/docs", label: "API", needs: null },
    ],
  },
];
