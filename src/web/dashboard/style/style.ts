/// <reference path="../../css/sheet.d.ts" />
import { minified } from "../../css/minified.ts";
import BASE from "./base.css";
import CHARTS from "./charts.css";
import FORMS from "./forms.css";
import INCIDENTS from "./incidents.css";
import JOB_FORM from "./job-form.css";
import LAYOUT from "./layout.css";
import LIVE from "./live.css";
import PANEL from "./panel.css";
import RECORD from "./record.css";
import ROWS from "./rows.css";
import SEARCH from "./search.css";
import SHELL from "./shell.css";
import TABLE from "./table.css";
import TOKENS from "./tokens.css";

/** Of elements, then of parts, then of pages: of two rules that are alike the later one counts. */
const SHEETS = [
  TOKENS,
  BASE,
  SHELL,
  PANEL,
  TABLE,
  ROWS,
  FORMS,
  CHARTS,
  RECORD,
  INCIDENTS,
  LIVE,
  SEARCH,
  JOB_FORM,
  LAYOUT,
];

/** The style sheet of all pages, inlined in each to save a request. */
export const STYLE = SHEETS.map(minified).join("");
