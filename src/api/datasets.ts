import { EXTRA_DESCRIPTIONS, FIELD_DESCRIPTIONS } from "../record/fields.ts";
import { DATASET_FIELDS, DEFAULT_FIELDS } from "./docs/account.ts";
import { success } from "./envelope.ts";
import { type AppContext, type Resource, type Route, requireDataset } from "./route.ts";

const FIELDS: Route = {
  permission: "logs:read",
  doc: DATASET_FIELDS,
  async handle(c: AppContext, { extraFields }) {
    requireDataset(c);
    const extra = extraFields.map((name) => [name, EXTRA_DESCRIPTIONS[name]] as const);
    return success(c, { ...FIELD_DESCRIPTIONS, ...Object.fromEntries(extra) });
  },
};

const DEFAULTS: Route = {
  permission: "logs:read",
  doc: DEFAULT_FIELDS,
  async handle(c: AppContext) {
    requireDataset(c);
    return success(c, FIELD_DESCRIPTIONS);
  },
};

/** A job that names no fields ships all but the extra ones. */
export const datasetRoutes: readonly Resource[] = [
  { path: "/datasets/:dataset/fields", methods: { GET: FIELDS } },
  { path: "/datasets/:dataset/fields/default", methods: { GET: DEFAULTS } },
];
