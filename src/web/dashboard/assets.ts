import { createHash } from "node:crypto";
import { encodeUtf8 } from "../../base/bytes.ts";
import chartsScript from "./client/charts.client.js";
import countsScript from "./client/counts.client.js";
import docsScript from "./client/docs.client.js";
import findScript from "./client/find.client.js";
import liveScript from "./client/live.client.js";
import filterScript from "./client/live-filter.client.js";
import linkScript from "./client/live-link.client.js";
import listScript from "./client/live-list.client.js";
import pageScript from "./client/page.client.js";
import searchScript from "./client/search.client.js";
import tablesScript from "./client/tables.client.js";
import { recordFilters } from "./parts/record-filter.ts";
import { recordTexts } from "./parts/record-summary.ts";
import { STYLE } from "./style/style.ts";

/** One script of several files, which import from each other alone; without its comments. */
function joined(...files: readonly string[]): string {
  return files
    .map((text) =>
      text
        .replace(/^import \{[^}]*\} from "[^"]+";$/gm, "")
        .replace(/^export /gm, "")
        .replace(/^\s*(?:\/\/.*|\/\*\*[^*]*(?:\*(?!\/)[^*]*)*\*\/)\n/gm, ""),
    )
    .join("\n");
}

/** The source of the functions that the live view shares with the pages. */
const SHARED = [
  `const { rowOf, summaryOf, visible } = (${recordTexts})();`,
  `const { combined, identityOf } = (${recordFilters})();`,
];

/** `page` is on every page, `search` on /search, `live` on /live, `docs` alone on /docs. */
const SCRIPTS = {
  page: joined(tablesScript, chartsScript, findScript, pageScript),
  search: joined(searchScript, countsScript),
  docs: joined(docsScript),
  live: joined(...SHARED, filterScript, linkScript, listScript, liveScript),
} as const;

export type ScriptName = keyof typeof SCRIPTS;

export { STYLE };

/** Allows the style sheet of the pages, and no other, in their Content-Security-Policy. */
export const STYLE_HASH = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;

interface Asset {
  path: string;
  body: Uint8Array<ArrayBuffer>;
}

const assets = new Map<ScriptName, Asset>(
  Object.entries(SCRIPTS).map(([name, text]) => {
    const hash = createHash("sha256").update(text).digest("base64url").slice(0, 16);
    return [name as ScriptName, { path: `/assets/${name}-${hash}.js`, body: encodeUtf8(text) }];
  }),
);

/** The path contains a hash of the script, so that browsers may cache it without limit. */
export function scriptPath(name: ScriptName): string {
  return assets.get(name)?.path ?? "";
}

/** null: no such script. */
export function scriptAt(path: string): Uint8Array<ArrayBuffer> | null {
  return [...assets.values()].find((asset) => asset.path === path)?.body ?? null;
}
