import type { Permission } from "../../state/access/roles.ts";

export interface Entry {
  /** All pages below it belong to it. */
  href: string;
  label: string;
  needs: Permission | null;
  /** Path of an SVG of 16 by 16. */
  icon: string;
}

function entry(href: string, label: string, needs: Permission | null, icon: string): Entry {
  return { href, label, needs, icon };
}

export const FIND_ICON = "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2zM11 11l3.5 3.5";

/** All pages that lead somewhere, in three groups: what happens, what is shipped, what it takes. */
export const NAVIGATION = [
  {
    title: "Observe",
    entries: [
      entry("/", "Overview", null, "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z"),
      entry("/incidents", "Incidents", "logs:read", "M8 2a4 4 0 0 1 4 4v3l1.5 3h-11L4 9V6a4 4 0 0 1 4-4zM6.5 14h3"),
      entry("/problems", "Problems", "logs:read", "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.5v.5"),
      entry("/search", "Search", "logs:read", FIND_ICON),
      entry("/live", "Live", "logs:read", "M1 8h3l2-5 4 10 2-5h3"),
      entry(
        "/functions",
        "Workers",
        "functions:read",
        "M6 2c-2 0-2 1-2 3s0 3-2 3c2 0 2 1 2 3s0 3 2 3M10 2c2 0 2 1 2 3s0 3 2 3c-2 0-2 1-2 3s0 3-2 3",
      ),
    ],
  },
  {
    title: "Ship",
    entries: [
      entry("/jobs", "Jobs", "logs:read", "M2 4h6M2 8h11M2 12h6M10 4.5 13.5 8 10 11.5"),
      entry(
        "/status",
        "Status",
        "logs:read",
        "M8 1.5 13.5 4v4c0 3.5-2.5 5.5-5.5 6.5C5 13.5 2.5 11.5 2.5 8V4zM5.5 8l2 2 3-3.5",
      ),
      entry("/set-aside", "On hold", "logs:edit", "M2 9l2-6h8l2 6v4H2zM2 9h3.5l1 2h3l1-2H14"),
    ],
  },
  {
    title: "Set up",
    entries: [
      entry(
        "/alerts",
        "Alerts",
        "logs:read",
        "M2 6v4h2.5L9 13V3L4.5 6zM11.5 5.5a3.5 3.5 0 0 1 0 5M13.5 3.5a6.5 6.5 0 0 1 0 9",
      ),
      entry("/attach", "Attach", null, "M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v3"),
      entry("/cost", "Cost", "logs:read", "M8 1.5v13M11.5 4.5C11 3 5 2.5 5 5.5c0 3.5 6.5 1.5 6.5 5 0 3-6.5 2.5-7 .5"),
      entry("/access", "Access", "access:edit", "M5.5 7a3 3 0 1 1 2.5 3L7 11v1.5H5.5V14H2v-2.5z"),
      entry("/docs", "API", null, "M5 4 1.5 8 5 12M11 4l3.5 4L11 12"),
    ],
  },
];
