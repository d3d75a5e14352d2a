/**
 * Which part of src may import which: only what stands in a row below it. Read from the top, the
 * rows are the way back of an event, from the pages that show it down to the bytes it is made of.
 * Rooms come one after the other, and so do the folders of a room. `npm run check:imports` holds
 * this, by value and by type imports, and refuses every circle of files.
 */
const ROWS = [
  ["index"],
  ["worker"],
  ["web/app"],
  ["web/openapi"],
  ["web/dashboard"],
  ["web/api", "web/css"],
  ["operate/alerts"],
  ["operate/status"],
  ["operate/live"],
  ["operate/replay", "operate/search"],
  ["state/local"],
  ["state/control"],
  ["state/access", "state/functions"],
  ["ship/scheduled"],
  ["ship/consumer"],
  ["ship/set-aside"],
  ["ship/reader"],
  ["ship/intake"],
  ["ship/log"],
  ["ship/job"],
  ["ship/destinations"],
  ["config"],
  ["formats/manifest"],
  ["formats/object"],
  ["formats/query"],
  ["formats/queue", "formats/filter", "formats/output", "formats/json"],
  ["formats/errors", "formats/secrets", "formats/sketch", "formats/record"],
  ["base/storage", "base/streams"],
  ["base/errors", "base/memory"],
  ["base"],
];

/** Folders of tools that could be packages of their own, and all that they import beside it. */
const PACKAGES = [
  ["tools/project-files", []],
  ["tools/verify", ["src/formats/manifest/archive-format.ts"]],
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
    ...PACKAGES.map(([folder, imported]) => ({
      name: `${folder}-apart`,
      severity: "error",
      from: { path: `^${folder}/` },
      to: { path: "^(src|tools|test)/", pathNot: [`^${folder}/`, ...imported.map((file) => `^${file}$`)] },
    })),
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
