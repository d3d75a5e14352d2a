import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { Field } from "../../parts/form.tsx";
import type { Viewer } from "../../session.ts";
import { type FormRead, faultAt, type ShippingBody } from "./body.ts";

export const RecordsForm: FC<{
  body: ShippingBody;
  fields: Readonly<Record<string, string>>;
  faults: readonly ErrorEntry[];
  viewer: Viewer;
}> = ({ body, faults }) => (
  <Field name="filter" label="Filter" value={body.filter ?? ""} error={faultAt(faults, "/filter")} rows={4} />
);

export function readRecordsForm(form: URLSearchParams, before: ShippingBody): FormRead {
  const filter = form.get("filter") ?? "";
  return { body: filter === (before.filter ?? "") ? before : { ...before, filter }, again: false };
}
