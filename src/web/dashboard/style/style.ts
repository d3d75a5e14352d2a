import { BASE } from "./base.ts";
import { CHARTS } from "./charts.ts";
import { FORMS } from "./forms.ts";
import { LIVE } from "./live.ts";
import { OPS } from "./ops.ts";
import { OVERVIEW } from "./overview.ts";
import { PARTS } from "./parts.ts";
import { SEARCH } from "./search.ts";
import { SHIPPING } from "./shipping.ts";
import { TOKENS } from "./tokens.ts";

/** The style sheet of all pages, inlined in each to save a request. */
export const STYLE = [TOKENS, BASE, PARTS, FORMS, CHARTS, LIVE, OPS, OVERVIEW, SEARCH, SHIPPING].join("");
