import { DATASETS } from "../../../../formats/record/fields.ts";
import type { PageContext } from "../../page.ts";
import { may } from "../../parts/form.tsx";

/** Names of the dataset's fields, each with its description. */
export type Fields = Readonly<Record<string, string>>;

/** @returns no fields for a viewer without `logs:read`. @throws InnerFailure */
export async function loadFields({ api, viewer }: PageContext): Promise<Fields> {
  return may(viewer, "logs:read") ? api.get<Fields>(`/logship/datasets/${DATASETS[0]}/fields`) : {};
}
