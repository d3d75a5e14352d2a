/// <reference path="../../css/sheet.d.ts" />
import { minified } from "../../css/minified.ts";
import BASE from "./base.css";
import CHARTS from "./charts.css";
import FORMS from "./forms.css";
import INCIDENTS from "./incidents.css";
import LIVE from "./live.css";
import OPS from "./ops.css";
import OVERVIEW from "./overview.css";
import PARTS from "./parts.css";
import SEARCH from "./search.css";
import SHIPPING from "./shipping.css";
import TOKENS from "./tokens.css";

/** The style sheet of all pages, inlined in each to save a request. */
export const STYLE = [TOKENS, BASE, PARTS, FORMS, CHARTS, INCIDENTS, LIVE, OPS, OVERVIEW, SEARCH, SHIPPING]
  .map(minified)
  .join("");
