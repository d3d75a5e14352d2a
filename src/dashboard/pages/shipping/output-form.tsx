import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { Field } from "../../parts/form.tsx";
import type { Viewer } from "../../session.ts";
import { type FormRead, faultAt, type ShippingBody } from "./body.ts";

export const OutputForm: FC<{ body: ShippingBody; faults: readonly ErrorEntry[]; viewer: Viewer }> = ({
  body,
  faults,
}) => <Field name="name" label="Name" value={body.name ?? ""} error={faultAt(faults, "/name")} />;

export function readOutputForm(form: URLSearchParams, before: ShippingBody): FormRead {
  const name = form.get("name") ?? "";
  return { body: name === (before.name ?? "") ? before : { ...before, name }, again: false };
}
