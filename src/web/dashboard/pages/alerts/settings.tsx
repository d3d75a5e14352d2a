/** The form of a receiver of alerts. */
import type { FC } from "hono/jsx";
import { type AddressNote, noteOn, noteWords } from "../../../../operate/alerts/address-notes.ts";
import { FORMAT, FORMATS, type ReceiverFormat } from "../../../../operate/alerts/alert-formats.ts";
import { type Faults, unnamed } from "../../parts/faults.tsx";
import { Check, Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import { labelOf, type Receiver, routesText } from "./view.tsx";

/** A rejected form. */
export interface Refused {
  form: URLSearchParams;
  faults: Faults;
  status: number;
}

export const FIELDS = ["name", "address", "secret", "format", "url", "enabled", "rotate", "routes"];

/** The webhook's fields, as {@link FORMAT} has them of the others. */
const WEBHOOK_FIELDS = {
  address: "https, on a public host. Stored encrypted and shown masked.",
  url: null,
  key: null,
};

/** What the API calls the address. */
const addressName = (format: ReceiverFormat): "url" | "address" => (format === "generic" ? "url" : "address");

const entered = (form: URLSearchParams | null, name: string): string => (form?.get(name) ?? "").trim();

/** @param of null: a new one. */
export const Settings: FC<{
  format: ReceiverFormat;
  form: URLSearchParams | null;
  faults: Faults;
  of: Receiver | null;
}> = ({ format, form, faults: named, of }) => {
  const faults = unnamed(named);
  const isWebhook = format === "generic";
  const { address, url, key } = isWebhook ? WEBHOOK_FIELDS : FORMAT[format];
  const sent = entered(form, addressName(format));
  return (
    <>
      {sent !== "" && sent !== of?.address && format !== "email" && (
        <Notice kind="warn" title="Enter the address again">
          <p>logship does not show the address again: its path may be secret.</p>
        </Notice>
      )}
      {!isWebhook && (
        <Field
          name="name"
          label="Name"
          value={form?.get("name") ?? of?.name ?? labelOf(format)}
          error={faults.at("name")}
          maxlength={120}
          required
        />
      )}
      <Field
        name={addressName(format)}
        label={format === "email" ? "Recipient" : "Address"}
        value={of?.address ?? (format === "email" ? sent : "")}
        error={faults.at(addressName(format))}
        hint={of === null ? address : "Leave it masked to keep it. A new address gets a call for every open incident."}
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
          hint={of === null ? `${key.form}. Stored encrypted, never shown.` : "Empty keeps it, at the same address."}
          autocomplete="off"
        />
      )}
      {!isWebhook && (
        <Check
          name="errors_only"
          label="Errors only"
          checked={form?.has("errors_only") ?? of?.min_severity === "error"}
          hint="Warnings are not sent."
        />
      )}
      {!isWebhook && (
        <Field
          name="routes"
          label="Only about"
          value={form?.get("routes") ?? routesText(of?.routes ?? null)}
          error={faults.at("routes")}
          hint="Workers and saved searches: shop-*, till, search 7. Empty: about everything, jobs and the account as well."
          autocomplete="off"
          spellcheck={false}
        />
      )}
      {(isWebhook || of !== null) && (
        <Check
          name="enabled"
          label="Enabled"
          checked={form?.has("enabled") ?? of?.enabled ?? true}
          hint="Incidents that open and end while it is off are not reported."
        />
      )}
      {isWebhook && of !== null && (
        <Check
          name="rotate"
          label="Create a new secret"
          checked={form?.has("rotate") ?? false}
          hint="Shown once. For a day, calls are signed with both secrets."
        />
      )}
    </>
  );
};

/** What a form asks for. */
export function asked(format: ReceiverFormat, form: URLSearchParams): object {
  if (format !== "generic") return askedOfAlert(form);
  return { url: entered(form, "url"), ...(form.has("rotate") && { rotate: true }) };
}

/** An empty secret, or address, asks for nothing. */
export function askedOfAlert(form: URLSearchParams): object {
  const given = ["address", "secret"].flatMap((name) => {
    const value = entered(form, name);
    return value === "" ? [] : [[name, value] as const];
  });
  return {
    name: entered(form, "name"),
    ...Object.fromEntries(given),
    min_severity: form.has("errors_only") ? "error" : "warning",
    ...(form.has("routes") && { routes: routesIn(entered(form, "routes")) }),
  };
}

/** As of {@link routesText}. null: everything. */
function routesIn(text: string): object | null {
  const all = text.split(",").map((each) => each.trim());
  const searches = all.flatMap((each) => /^search (\d+)$/.exec(each)?.[1] ?? []).map(Number);
  const workers = all.filter((each) => each !== "" && !/^search \d+$/.test(each));
  return text === "" ? null : { workers, searches };
}

/** The note on an address that was accepted, for {@link AddressNoteOf} of the page after it. */
export function noteQuery(format: ReceiverFormat, form: URLSearchParams): string {
  const address = entered(form, "address");
  const note = format !== "generic" && URL.canParse(address) ? noteOn(format, address) : null;
  if (note === null) return "";
  return `&note=${note.kind === "path" ? "path" : note.host}`;
}

export const AddressNoteOf: FC<{ format: ReceiverFormat; query: URLSearchParams }> = ({ format, query }) => {
  const note = noteIn(query.get("note"));
  if (note === null || format === "generic") return null;
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
