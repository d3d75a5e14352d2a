/** The form of a receiver of alerts. */
import type { FC } from "hono/jsx";
import { type AddressNote, noteOn, noteWords } from "../../../../operate/status/address-notes.ts";
import { FORMAT, FORMATS, type FormatName } from "../../../../operate/status/formats.ts";
import type { Alert } from "../../../api/docs/alerts.ts";
import { type Faults, unnamed } from "../../parts/faults.tsx";
import { Check, Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";

/** A rejected form. */
export interface Refused {
  form: URLSearchParams;
  faults: Faults;
  status: number;
}

export const FIELDS = ["name", "address", "secret", "format"];

export const Settings: FC<{ format: FormatName; form: URLSearchParams | null; faults: Faults; alert?: Alert }> = ({
  format,
  form,
  faults: named,
  alert,
}) => {
  const faults = unnamed(named);
  const { address, url, key } = FORMAT[format];
  return (
    <>
      <Field
        name="name"
        label="Name"
        value={form?.get("name") ?? alert?.name ?? FORMAT[format].label}
        error={faults.at("name")}
        maxlength={120}
        required
      />
      <Field
        name="address"
        label={format === "email" ? "Recipient" : "Address"}
        value={alert?.address ?? (format === "email" ? (form?.get("address") ?? "") : "")}
        error={faults.at("address")}
        hint={
          alert === undefined
            ? address
            : "Leave it masked to keep it. A new address gets a call for every open incident."
        }
        autocomplete="off"
        spellcheck={false}
        required={url === null}
      />
      {key !== null && (
        <Field
          name="secret"
          type="password"
          label={key.label}
          error={faults.at("secret")}
          hint={alert === undefined ? `${key.form}. Stored encrypted, never shown.` : "Empty keeps the stored one."}
          autocomplete="off"
        />
      )}
      <Check
        name="errors_only"
        label="Errors only"
        checked={form?.has("errors_only") ?? alert?.min_severity === "error"}
        hint="Warnings are not sent."
      />
    </>
  );
};

/** What a form asks for. An empty secret, or address, asks for nothing. */
export function asked(form: URLSearchParams): object {
  const given = ["address", "secret"].flatMap((name) => {
    const value = (form.get(name) ?? "").trim();
    return value === "" ? [] : [[name, value] as const];
  });
  return {
    name: (form.get("name") ?? "").trim(),
    ...Object.fromEntries(given),
    min_severity: form.has("errors_only") ? "error" : "warning",
  };
}

/** The note on an address that was accepted, for {@link AddressNoteOf} of the page after it. */
export function noteQuery(format: FormatName, form: URLSearchParams): string {
  const address = (form.get("address") ?? "").trim();
  const note = URL.canParse(address) ? noteOn(format, address) : null;
  if (note === null) return "";
  return `&note=${note.kind === "path" ? "path" : note.host}`;
}

export const AddressNoteOf: FC<{ format: FormatName; query: URLSearchParams }> = ({ format, query }) => {
  const note = noteIn(query.get("note"));
  if (note === null) return null;
  return (
    <Notice kind="warn" title="Is this the right address?">
      <p>{noteWords(format, note)}</p>
    </Notice>
  );
};

function noteIn(text: string | null): AddressNote | null {
  if (text === "path") return { kind: "path" };
  const host = FORMATS.find((each) => each === text);
  return host === undefined ? null : { kind: "other", host };
}
