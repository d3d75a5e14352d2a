import { BASE } from "./base.ts";
import { FORMS } from "./forms.ts";
import { OPS } from "./ops.ts";
import { PARTS } from "./parts.ts";
import { TOKENS } from "./tokens.ts";

/** The one style sheet of all pages; it stands in each, so that a page is there with its first answer. */
export const STYLE = [TOKENS, BASE, PARTS, FORMS, OPS].join("");
