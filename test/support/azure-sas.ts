/**
 * Shared access signatures of Azure Blob Storage, as an account's owner makes them. Node and the
 * Workers runtime share this file.
 * https://learn.microsoft.com/rest/api/storageservices/create-account-sas and create-service-sas
 */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";

/** The account of emulators, and its key, which is public. */
export const AZURE_ACCOUNT = "devstoreaccount1";
export const AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/** After the clocks of tests, which are set far ahead. */
export const AZURE_EXPIRY = "2199-12-31T00:00:00Z";

const VERSION = "2021-12-02";

/** Of an account SAS, in the order in which they are signed. */
const ACCOUNT_FIELDS = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv", "ses"] as const;

/** Of a service SAS: before and after the resource. */
const SERVICE_FIELDS = [["sp", "st", "se"], ["si", "sip", "spr", "sv", "sr"], ["ses"]] as const;

/** The signature of these parameters, for one container or, with `ss`, for all of the account. */
export function sasSignature(parameters: URLSearchParams, container: string, key = AZURE_KEY): string {
  const values = (names: readonly string[]): string[] => names.map((name) => parameters.get(name) ?? "");
  const [before, after, last] = SERVICE_FIELDS;
  const lines = parameters.has("ss")
    ? [AZURE_ACCOUNT, ...values(ACCOUNT_FIELDS), ""]
    : [
        ...[...values(before), `/blob/${AZURE_ACCOUNT}/${container}`, ...values(after), ""],
        // Headers of answers that a SAS may change.
        ...[...values(last), "", "", "", "", ""],
      ];
  return createHmac("sha256", Buffer.from(key, "base64")).update(lines.join("\n")).digest("base64");
}

/** As the vendor wants it: of the account, for objects. @param permissions letters of `sp`. */
export function accountSas(permissions = "rcw", more: Readonly<Record<string, string>> = {}): string {
  return signed({ sv: VERSION, ss: "b", srt: "o", sp: permissions, se: AZURE_EXPIRY, ...more }, "");
}

/** For one container, as `az storage container generate-sas` makes it. */
export function containerSas(
  container: string,
  permissions = "rcw",
  more: Readonly<Record<string, string>> = {},
): string {
  return signed({ sp: permissions, se: AZURE_EXPIRY, sv: VERSION, sr: "c", ...more }, container);
}

function signed(fields: Readonly<Record<string, string>>, container: string): string {
  const parameters = new URLSearchParams(fields);
  const pairs = [...parameters, ["sig", sasSignature(parameters, container)]];
  return pairs.map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`).join("&");
}
