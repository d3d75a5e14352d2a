import { isLoopback, isPublicHost, parseEndpoint } from "../../../base/hosts.ts";
import type { DestinationContext } from "../../../config.ts";
import { KEY_PARAMETERS, KEY_REFERENCE, readKeys } from "../access-keys.ts";
import { type Parameters, type PlaceRead, parseParameters, parsePath, readings, STORE_TERMS } from "../conf.ts";
import type { ConfParts, DestinationKind, Parsed, Place } from "../destination.ts";
import { bucketUrl } from "../store/http-store.ts";
import { openStore, whyOf } from "../store/open.ts";
import { objectStore, type S3Destination, type S3Place } from "./object-store.ts";

/**
 * Stores that speak S3: `s3://<bucket>/<path>?region=…[&endpoint=…]…`, any of them, and
 * `objstore://` (also `r2://`) `<bucket>/<path>?account-id=…`, the platform's own; each with
 * `access-key-id=…&secret-access-key=…` or `credentials=env:DEST_<NAME>`.
 */
export const s3 = {
  schemes: ["objstore", "r2", "s3"],
  isShown: (parameter) => [...S3_OWN, ...OBJSTORE_OWN, KEY_REFERENCE].includes(parameter),
  terms: () => STORE_TERMS,
  ...readings(readPlace, readKeys),
  misplaced: (place) => (place.scheme === "s3" ? bucketInEndpoint(place) : null),
  // Made by the method above.
  open: (destination, path, platform) =>
    openStore(objectStore(destination as S3Destination, platform), {
      path,
      platform,
      why: whyOf(new URL(bucketUrl(destination)), platform),
    }),
} as const satisfies DestinationKind;

const S3_OWN: readonly string[] = ["region", "endpoint", "addressing-style", "sse"];
const OBJSTORE_OWN: readonly string[] = ["account-id"];

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;
/** Of a Ceph, maybe empty. No host, before a port. https://docs.ceph.com/en/latest/radosgw/s3/ */
const TENANT = /^\w{0,128}:(?!\d{1,5}$)/;
/** One that may stand before a host: one label, as certificates of stores cover no second one. */
const HOST_BUCKET = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/;
const ACCOUNT_ID = /^[A-Za-z0-9-]{1,64}$/;
/** Stores name regions as they like: `RegionOne`. Without an endpoint it is part of AWS's host. */
const REGION = /^[A-Za-z0-9._-]{1,64}$/;
const AWS_REGION = /^[a-z0-9-]{1,64}$/;

/** Of AWS's partitions, by the first word of their regions; all others are in `amazonaws.com`. */
const AWS_DOMAINS: ReadonlyMap<string, string> = new Map(
  Object.entries({ cn: "amazonaws.com.cn", eusc: "amazonaws.eu" }),
);

function readPlace(
  { scheme, authority: bucket, path: rawPath, query }: ConfParts,
  context: DestinationContext,
): Parsed<PlaceRead<S3Place>> {
  if (!BUCKET.test(scheme === "s3" ? bucket.replace(TENANT, "") : bucket))
    return { ok: false, why: "the bucket must be 2 to 255 letters, digits, dots, dashes or underscores" };
  const path = parsePath(rawPath);
  if (!path.ok) return path;
  const [own, locate] = scheme === "s3" ? [S3_OWN, locateS3] : [OBJSTORE_OWN, locateObjstore];
  const parameters = parseParameters(query, [...own, ...KEY_PARAMETERS]);
  if (!parameters.ok) return parameters;
  const located = locate(parameters.value, context, bucket);
  if (!located.ok) return located;
  const place = { scheme, bucket, path: path.value, ...located.value };
  return { ok: true, value: { place, parameters: parameters.value } };
}

type Located = Parsed<Pick<S3Place, "endpoint" | "addressing" | "region" | "sse" | "accountId">>;

function locateS3(parameters: Parameters, { allowLoopback }: DestinationContext, bucket: string): Located {
  const region = parameters.get("region");
  if (region === undefined) return { ok: false, why: "region is missing" };
  const given = parameters.get("endpoint");
  if (given === undefined && !AWS_REGION.test(region))
    return { ok: false, why: "region must be 1 to 64 lower-case letters, digits or dashes without an endpoint" };
  if (!REGION.test(region))
    return { ok: false, why: "region must be 1 to 64 letters, digits, dashes, dots or underscores" };
  const sse = parameters.get("sse") ?? null;
  if (sse !== null && sse !== "AES256") return { ok: false, why: "sse must be AES256" };
  const domain = AWS_DOMAINS.get(region.slice(0, region.indexOf("-"))) ?? "amazonaws.com";
  const endpoint = parseEndpoint(given ?? `s3.${region}.${domain}`, "endpoint", allowLoopback);
  if (!endpoint.ok) return endpoint;
  const place = { endpoint: endpoint.value, region, sse, accountId: null } as const;
  const addressing = parameters.get("addressing-style");
  if (addressing === undefined) return { ok: true, value: place };
  if (addressing !== "virtual") return { ok: false, why: "addressing-style must be virtual, or left out" };
  if (!HOST_BUCKET.test(bucket))
    return { ok: false, why: "the bucket must be 2 to 63 lower-case letters, digits or dashes to stand in a host" };
  const url = bucketUrl({ ...place, bucket, addressing });
  const asked = parseEndpoint(url, "endpoint, with the bucket before it,", allowLoopback);
  return asked.ok ? { ok: true, value: { ...place, addressing } } : asked;
}

function locateObjstore(parameters: Parameters, { objstoreEndpoint, allowLoopback }: DestinationContext): Located {
  const accountId = parameters.get("account-id");
  if (accountId === undefined) return { ok: false, why: "account-id is missing" };
  if (!ACCOUNT_ID.test(accountId)) return { ok: false, why: "account-id must be 1 to 64 letters, digits or dashes" };
  const text = objstoreEndpoint.replaceAll("{account-id}", accountId);
  const endpoint = parseEndpoint(text, "OBJSTORE_ENDPOINT", allowLoopback);
  if (!endpoint.ok) return endpoint;
  return { ok: true, value: { endpoint: endpoint.value, region: "auto", sse: null, accountId } };
}

/**
 * First labels of hosts that are more often the name of a service than of a bucket: a bucket
 * `minio` at `minio.example.com` is as it should be.
 */
const SERVICE_LABELS: ReadonlySet<string> = new Set([
  "ceph",
  "cos",
  "garage",
  "gateway",
  "minio",
  "object",
  "object-storage",
  "objects",
  "objectstorage",
  "objectstore",
  "obs",
  "oss",
  "rgw",
  "s3",
  "seaweedfs",
  "storage",
]);

/**
 * Requests are path-style, `<endpoint>/<bucket>/<key>`, unless asked otherwise. Where the endpoint
 * holds the bucket already (`https://<bucket>.host`, or a path that ends in `/<bucket>`), stores
 * answer 200 and keep `<bucket>/<key>`, a key that nothing here would ever show.
 * @returns what to write instead; null: the endpoint does not hold the bucket.
 */
function bucketInEndpoint({ endpoint, bucket, addressing }: Place): string | null {
  const { protocol, host, pathname } = endpoint;
  const label = `${bucket.toLowerCase()}.`;
  const isService = SERVICE_LABELS.has(bucket.toLowerCase());
  const rest = host.startsWith(label) ? host.slice(label.length) : "";
  // What is left has to be a host that can be used, too: `acme.com` is no bucket `acme` of `com`.
  const left = rest.replace(/:\d+$/, "");
  const inHost = isService ? /^s3[.-]/.test(left) : /[a-z]/.test(left) && (isPublicHost(left) || isLoopback(left));
  const inPath = !isService && decodedEnd(pathname) === bucket;
  if (!inHost && !inPath) return null;
  const path = inPath ? pathname.slice(0, pathname.lastIndexOf("/")) : pathname.replace(/\/$/, "");
  const right = `${protocol}//${inHost ? rest : host}${path}`;
  const isVirtual = addressing === "virtual";
  const more = inHost && !isVirtual ? ", and addressing-style=virtual if the store wants the bucket in the host" : "";
  return `endpoint must not contain the bucket: it is added to the ${isVirtual ? "host" : "path"} of each request. Use ${right}${more}`;
}

function decodedEnd(pathname: string): string {
  const end = pathname.slice(pathname.lastIndexOf("/") + 1);
  try {
    return decodeURIComponent(end);
  } catch {
    return end;
  }
}
