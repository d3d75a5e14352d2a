import {
  EXTRA_DESCRIPTIONS,
  FIELD_DESCRIPTIONS,
  INVOCATION_FIELDS,
  ROW_DESCRIPTIONS,
} from "../../formats/record/fields.ts";
import { DATASET_FIELDS, DEFAULT_FIELDS } from "./docs/account.ts";
import { success } from "./envelope.ts";
import { queryOf } from "./query.ts";
import { type AppContext, type Resources, type Route, requireDataset } from "./route.ts";

const FIELDS: Route = {
  permission: "logs:read",
  doc: DATASET_FIELDS,
  async handle(c: AppContext, { extraFields }) {
    requireDataset(c);
    const extra = extraFields.map((name) => [name, EXTRA_DESCRIPTIONS[name]] as const);
    return success(c, { ...defaults(c), ...Object.fromEntries(extra) });
  },
};

const DEFAULTS: Route = {
  permission: "logs:read",
  doc: DEFAULT_FIELDS,
  async handle(c: AppContext) {
    requireDataset(c);
    return success(c, defaults(c));
  },
};

/**
 * Those of a record; of its rows, where the query asks for these: Cloudflare's clients, which know
 * no rows, are offered no field that their jobs would be refused for.
 * @throws ApiError 400 as {@link queryOf}.
 */
function defaults(c: AppContext): Readonly<Record<string, string>> {
  if (queryOf(c, DATASET_FIELDS).rows !== "log") return FIELD_DESCRIPTIONS;
  const shared = INVOCATION_FIELDS.map((name) => [name, FIELD_DESCRIPTIONS[name]] as const);
  return { ...Object.fromEntries(shared), ...ROW_DESCRIPTIONS };
}

/** A job that names no fields ships all but the extra ones. */
export const datasetRoutes: Resources = {
  "/datasets/:dataset/fields": { GET: FIELDS },
  "/datasets/:dataset/fields/default": { GET: DEFAULTS },
};
