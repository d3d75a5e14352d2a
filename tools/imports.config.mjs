/**
 * Which folder of src may import which: only what stands in a row below it. Read from the top, the
 * rows are the way back of an event, from the pages that show it down to the bytes it is made of.
 * `npm run check:static` holds them, by value and by type imports, and refuses every circle of
 * files.
 */
const ROWS = [
  ["index"],
  ["worker"],
  ["app", "scheduled"],
  ["dashboard", "openapi"],
  ["api"],
  ["status"],
  ["live"],
  ["replay", "search", "local"],
  ["control"],
  ["pipeline", "functions"],
  ["set-aside"],
  ["delivery"],
  ["intake"],
  ["trace-log"],
  ["object", "config"],
  ["job"],
  ["queue", "access", "filter", "output", "manifest"],
  ["sketch", "destinations", "errors"],
  ["record", "storage", "streams"],
  ["memory"],
  ["limits", "log", "platform", "prices", "bytes", "backoff", "hosts", "failing-setting", "words"],
];

const place = (names) => `^src/(${names.join("|")})(/|\\.tsx?$)`;

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    { name: "no-circle", severity: "error", from: {}, to: { circular: true } },
    {
      name: "in-a-row",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^src/", pathNot: place(ROWS.flat()) },
    },
    ...ROWS.flatMap((row, i) =>
      row.map((name) => ({
        name: `${name}-only-from-below`,
        severity: "error",
        from: { path: place([name]) },
        to: { path: "^src/", pathNot: place([name, ...ROWS.slice(i + 1).flat()]) },
      })),
    ),
  ],
  options: {
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    exclude: { path: "\\.gen\\.d\\.ts$" },
  },
};
