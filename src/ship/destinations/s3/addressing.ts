import { isLoopback, isPublicHost } from "../../../base/hosts.ts";

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
 * Requests are path-style, `<endpoint>/<bucket>/<key>`. Where the endpoint holds the bucket already
 * (`https://<bucket>.host`, or a path that ends in `/<bucket>`), stores answer 200 and keep
 * `<bucket>/<key>`, a key that nothing here would ever show.
 * @returns what to write instead; null: the endpoint does not hold the bucket.
 */
export function bucketInEndpoint(endpoint: URL, bucket: string): string | null {
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
  return `endpoint must not contain the bucket: it is added to the path of each request. Use ${right}`;
}

function decodedEnd(pathname: string): string {
  const end = pathname.slice(pathname.lastIndexOf("/") + 1);
  try {
    return decodeURIComponent(end);
  } catch {
    return end;
  }
}
