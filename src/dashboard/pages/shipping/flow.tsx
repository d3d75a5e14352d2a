/** What the wizard and the edit page share: reading, checking and previewing what a job ships. */
import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { DATASETS } from "../../../record/fields.ts";
import type { InnerAnswer } from "../../inner-api.ts";
import type { PageContext } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { may } from "../../parts/form.tsx";
import { type FormRead, inShort, type ShippingBody } from "./body.ts";
import { readOutputForm } from "./output-form.tsx";
import type { PreviewView } from "./preview-panel.tsx";
import { readRecordsForm } from "./records-form.tsx";

/** Names of the dataset's fields, each with its description. */
export type Fields = Readonly<Record<string, string>>;

/** Reads the records form and the output form. A form that was not sent changes nothing. */
export function readForms(form: URLSearchParams, before: ShippingBody): FormRead {
  const records = readRecordsForm(form, before);
  return { body: readOutputForm(form, records.body).body, again: records.again };
}

/** @returns no fields for a viewer without `logs:read`. @throws InnerFailure */
export async function loadFields({ api, viewer }: PageContext): Promise<Fields> {
  return may(viewer, "logs:read") ? api.get<Fields>(`/logship/datasets/${DATASETS[0]}/fields`) : {};
}

/**
 * Runs a body on recent events. @param masked where it ships, with masked secrets; null: that is
 * not known.
 */
export function askPreview(
  { api }: PageContext,
  body: ShippingBody,
  masked: string | null,
): Promise<InnerAnswer<PreviewView>> {
  const { filter, output_options, logpull_options } = body;
  const destination_conf = masked === "" ? null : masked;
  return api.send("POST", "/logship/preview", { filter, output_options, logpull_options, destination_conf });
}

/** All faults in one list; a fault of a field is shown beside the field as well. */
export const Refused: FC<{ faults: readonly ErrorEntry[]; title?: string }> = ({ faults, title = "Not saved" }) =>
  faults.length === 0 ? null : (
    <Errors
      title={title}
      errors={faults.map((fault) => ({ ...fault, message: inShort(fault.message) }))}
      placeOf={(pointer) => (/^\/(?:destination_conf|ownership_challenge)/.test(pointer) ? "#destination" : null)}
    />
  );
