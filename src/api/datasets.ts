import { FIELD_DESCRIPTIONS } from "../record/fields.ts";
import { DATASET_FIELDS, DEFAULT_FIELDS } from "./docs/account.ts";
import { success } from "./envelope.ts";
import { type AppContext, type Resource, type Route, requireDataset } from "./route.ts";

const FIELDS: Route = {
  permission: "logs:read",
  doc: DATASET_FIELDS,
  async handle(c: AppContext) {
    requireDataset(c);
    return success(c, FIELD_DESCRIPTIONS);
  },
};

/**
 * The fields of a dataset. A job that names no fields ships all of them, so the default is the same
 * list.
 */
export const datasetRoutes: readonly Resource[] = [
  { path: "/datasets/:dataset/fields", methods: { GET: FIELDS } },
  { path: "/datasets/:dataset/fields/default", methods: { GET: { ...FIELDS, doc: DEFAULT_FIELDS } } },
];
