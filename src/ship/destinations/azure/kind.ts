import { isLocalHost, parseEndpoint } from "../../../base/hosts.ts";
import type { DestinationContext } from "../../../config.ts";
import { type PlaceRead, parseParameters, parsePath, readings, STORE_TERMS } from "../conf.ts";
import type { ConfParts, DestinationKind, NetworkPlatform, OpenDestination, Parsed } from "../destination.ts";
import { openStore, whyOf } from "../store/open.ts";
import { type AzureDestination, blobStore } from "./blob-store.ts";
import { createsOnly, expiredWords, isPlain, readSas, remarkOf, SAS_PARAMETERS } from "./sas.ts";

/**
 * Azure Blob Storage: `azure://<account>.blob.core.windows.net/<container>/<path>?<SAS>`, the
 * container's URL with its SAS, and a path between the two. A local server, such as Azurite, has
 * the account in the path: `azure://127.0.0.1:10000/<account>/<container>/<path>?<SAS>`.
 */
export const azure = {
  schemes: ["azure"],
  terms: () => STORE_TERMS,
  isShown: isPlain,
  ...readings(readPlace, readSas),
  remark: (destination) => remarkOf((destination as AzureDestination).credentials),
  expiresMs: (destination) => (destination as AzureDestination).credentials.expiresMs,
  // Made by the method above.
  open: (destination, path, platform) => openContainer(destination as AzureDestination, path, platform),
} as const satisfies DestinationKind;

/**
 * https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
 */
const CONTAINER = /^[a-z0-9](?:-?[a-z0-9]){2,62}$/;
const CONTAINER_MAX = 63;
const ACCOUNT = /^[a-z0-9]{3,24}$/;
/** Of 254, of which a blob's own name is one. */
const SEGMENTS_MAX = 250;

/** Services of an account that hold no blobs, or speak another protocol. */
const OTHER_SERVICE = /\.(?:dfs|file|queue|table|web)\.(?:core|storage)\./;

const FORM = "azure://<account>.blob.core.windows.net/<container>/<path>?<SAS>";

function readPlace(
  { scheme, authority, path: whole, query }: ConfParts,
  context: DestinationContext,
): Parsed<PlaceRead> {
  const located = locate(authority, whole, context);
  if (!located.ok) return located;
  const { endpoint, container, rest } = located.value;
  if (!CONTAINER.test(container) || container.length > CONTAINER_MAX) {
    return { ok: false, why: `the container must be 3 to 63 lower-case letters, digits or single dashes; use ${FORM}` };
  }
  const path = parsePath(rest);
  if (!path.ok) return path;
  const why = pathFault(path.value);
  if (why !== null) return { ok: false, why };
  const parameters = parseParameters(query, SAS_PARAMETERS);
  if (!parameters.ok) return parameters;
  const place = { scheme, endpoint, accountId: null, bucket: container, path: path.value };
  return { ok: true, value: { place, parameters: parameters.value } };
}

function locate(
  authority: string,
  whole: string,
  { allowLoopback }: DestinationContext,
): Parsed<{ endpoint: URL; container: string; rest: string }> {
  const [first, rest] = splitOnce(whole);
  const endpoint = parseEndpoint(authority, "the host", allowLoopback);
  if (!endpoint.ok) return { ok: false, why: `${endpoint.why}; use ${FORM}` };
  const { hostname } = endpoint.value;
  if (OTHER_SERVICE.test(hostname)) return { ok: false, why: "the host must be the account's blob endpoint (.blob.)" };
  if (!allowLoopback || !isLocalHost(hostname)) {
    return { ok: true, value: { endpoint: endpoint.value, container: first, rest } };
  }
  // A name with a dot holds the account, as it does elsewhere.
  if (/^[a-z0-9]+\.(?:.+\.)?localhost$/.test(hostname)) {
    return { ok: true, value: { endpoint: new URL(`http://${authority}`), container: first, rest } };
  }
  if (!ACCOUNT.test(first)) return { ok: false, why: "the account must be 3 to 24 lower-case letters or digits" };
  const [container, path] = splitOnce(rest);
  return { ok: true, value: { endpoint: new URL(`http://${authority}/${first}`), container, rest: path } };
}

/** What the service would store under another name, or not at all. */
function pathFault(path: string): string | null {
  if (path.includes("\\")) return "the path must not contain a backslash";
  const segments = path.split("/");
  if (segments.some((segment) => segment.endsWith("."))) return "the path must not have a folder that ends with a dot";
  return segments.length > SEGMENTS_MAX ? `the path must not have more than ${SEGMENTS_MAX} folders` : null;
}

function openContainer(destination: AzureDestination, path: string, platform: NetworkPlatform): OpenDestination {
  const { credentials: sas, endpoint } = destination;
  const why = whyOf(endpoint, platform);
  const store = openStore(blobStore(destination, platform), { path, platform, why });
  const expired = (): string | null => expiredWords(sas, platform.now());
  return {
    ...store,
    probe: async () => expired() ?? (await store.probe()),
    challenge: async (key, token) => expired() ?? (await store.challenge(key, token)),
    // The first one would be taken, and no other.
    overwrite: async (object, body) =>
      createsOnly(sas)
        ? {
            kind: "misconfigured",
            words: "the SAS may create blobs, but not overwrite them (sp without w)",
            cause: "configuration",
          }
        : store.overwrite(object, body),
  };
}

function splitOnce(path: string): [first: string, rest: string] {
  const at = path.indexOf("/");
  return at === -1 ? [path, ""] : [path.slice(0, at), path.slice(at + 1)];
}
