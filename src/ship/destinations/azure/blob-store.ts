import { fromBase64, fromHex, toBase64, toHex } from "../../../base/bytes.ts";
import type { Destination, NetworkPlatform } from "../destination.ts";
import type { Meaning, PutRequest } from "../store/client.ts";
import { HttpStore, keyUrl, xmlCode } from "../store/http-store.ts";
import { createsOnly, type Sas } from "./sas.ts";

/** A container, with the SAS that lets in. */
export interface AzureDestination extends Destination {
  readonly credentials: Sas;
}

/** Our checksum, stored beside the blob. Names of metadata are identifiers: no dash. */
const SHA256_META = "x-ms-meta-logshipsha256";

/**
 * A container of Azure Blob Storage: one Put Blob for an object, a SAS in the address of each
 * request. https://learn.microsoft.com/rest/api/storageservices/put-blob
 */
export function blobStore(destination: AzureDestination, platform: NetworkPlatform): HttpStore {
  const { credentials: sas, endpoint } = destination;
  // Only a local server is spoken to without TLS.
  const isEmulator = endpoint.protocol === "http:";
  return new HttpStore(
    {
      putHeaders,
      sign: async (_method, key, headers) => {
        const sent = headers ?? new Headers();
        // The service goes by `sv` whatever this says; emulators want it.
        sent.set("x-ms-version", sas.version);
        return { url: `${keyUrl(destination, key)}?${sas.query}`, headers: sent };
      },
      // The ETag is of the service's own making. The MD5 is what it has computed of what it keeps.
      shown: (headers) => ({ etag: md5In(headers.get("content-md5")), sha256: headers.get(SHA256_META) }),
      code: (text, headers) => plain(headers.get("x-ms-error-code")) ?? xmlCode(text),
      meaning: (status, code) => {
        if (isEmulator && status === 403 && code === "AuthorizationPermissionMismatch" && createsOnly(sas))
          return "there";
        return meaningOf(status, code);
      },
    },
    platform,
  );
}

function putHeaders({ contentType, bytes, sha256, md5, conditional }: PutRequest): Headers {
  const headers = new Headers({
    "Content-Type": contentType,
    "Content-Length": `${bytes}`,
    "x-ms-blob-type": "BlockBlob",
    [SHA256_META]: sha256,
  });
  // Compared with what arrives. `x-ms-blob-content-md5` would be stored without being compared, and
  // shown in place of the MD5 of what is kept.
  if (md5 !== null) headers.set("Content-MD5", toBase64(fromHex(md5)));
  if (conditional) headers.set("If-None-Match", "*");
  return headers;
}

/**
 * A blob stands under the key, and the PUT was refused for it: by its condition; because the SAS
 * may only create; or because the blob is locked. So does 412, for a blob that is leased.
 */
const THERE: ReadonlySet<string> = new Set([
  "BlobAlreadyExists",
  "BlobImmutableDueToLegalHold",
  "BlobImmutableDueToPolicy",
  "UnauthorizedBlobOverwrite",
]);

/** Of 400, 403, 404 and 409: until a person changes something. */
const DESTINATION: ReadonlySet<string> = new Set([
  "AccountIsDisabled",
  "ContainerDisabled",
  "ContainerNotFound",
  "FeatureVersionMismatch",
  "InvalidAuthenticationInfo",
  "InvalidResourceName",
  "PublicAccessNotPermitted",
  "ResourceNotFound",
]);

const MOMENT: ReadonlySet<string> = new Set(["Md5Mismatch"]);

/**
 * What a code says beyond its status. Every other 409 is of the moment, as the status says.
 * https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
 */
function meaningOf(status: number, code: string | null): Meaning | undefined {
  if (code === null || status < 400 || status > 499) return undefined;
  if (THERE.has(code)) return "there";
  if (DESTINATION.has(code)) return "destination";
  return MOMENT.has(code) ? "moment" : undefined;
}

/** In hex; null: none is shown, or no MD5. */
function md5In(base64: string | null): string | null {
  return base64 !== null && /^[A-Za-z0-9+/]{22}==$/.test(base64) ? toHex(fromBase64(base64)) : null;
}

/** A header of the service, if it is a plain word. */
function plain(code: string | null): string | null {
  return code !== null && /^[A-Za-z0-9]{1,64}$/.test(code) ? code : null;
}
