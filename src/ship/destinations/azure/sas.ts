import type { Parsed } from "../destination.ts";

/**
 * A shared access signature: what is sent with each request instead of keys, and what it allows.
 * https://learn.microsoft.com/rest/api/storageservices/delegate-access-with-shared-access-signature
 */
export interface Sas {
  /** Its parameters as they are sent. Holds the secret. */
  readonly query: string;
  /** `sv`: by which version of the service requests are read; a header is ignored. */
  readonly version: string;
  /** Letters of `sp`; null: a policy that is stored at the container says. */
  readonly permissions: string | null;
  /** `se`, in ms; null: the policy says. */
  readonly expiresMs: number | null;
}

/** What proves the rest: the one secret. */
export const SIGNATURE = "sig";

/**
 * Parameters of a service, account or user delegation SAS. Those that change the headers of an
 * answer (`rsce` and the like) are none: what is read would not be what is there.
 */
export const SAS_PARAMETERS: readonly string[] = [
  ...["sv", "ss", "srt", "sr", "sdd", "sp", "st", "se", "sip", "spr", "si", "ses"],
  ...["skoid", "sktid", "skt", "ske", "sks", "skv", "saoid", "suoid", "scid", "skdutid", "sduoid"],
  SIGNATURE,
];

/** Whether the value of a parameter is no secret. */
export const isPlain = (parameter: string): boolean => parameter !== SIGNATURE && SAS_PARAMETERS.includes(parameter);

/** Before this version a blob that comes in one request holds 64 MiB at most. */
const OLDEST_VERSION = "2016-05-31";

/**
 * Reads a SAS, and refuses one that can never write a blob of any name into a container. Whether it
 * has expired depends on the time: {@link expiredWords}.
 */
export function readSas(parameters: ReadonlyMap<string, string>): Parsed<Sas> {
  const why = fault(parameters);
  if (why !== null) return { ok: false, why };
  const expiry = parameters.get("se");
  return {
    ok: true,
    value: {
      query: [...parameters].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&"),
      version: parameters.get("sv") ?? "",
      permissions: parameters.get("sp") ?? null,
      expiresMs: expiry === undefined ? null : Date.parse(expiry),
    },
  };
}

function fault(parameters: ReadonlyMap<string, string>): string | null {
  const [version, permissions, expiry] = ["sv", "sp", "se"].map((name) => parameters.get(name));
  if (!parameters.has(SIGNATURE))
    return "sig is missing: use the container's URL with its SAS, and azure:// for https://";
  if (version === undefined) return "sv is missing: the SAS is not complete";
  if (!/^\d{4}-\d{2}-\d{2}$/.test(version) || version < OLDEST_VERSION)
    return `sv must be a date, ${OLDEST_VERSION} or later: create the SAS with a newer version`;
  const scope = scopeFault(parameters);
  if (scope !== null) return scope;
  if (permissions === undefined && !parameters.has("si")) return "sp is missing: the SAS allows nothing";
  if (permissions !== undefined && !/[cw]/.test(permissions))
    return "sp must hold w or c: this SAS may not write. Create one with create, write and read (sp=rcw)";
  if (expiry === undefined) return parameters.has("si") ? null : "se is missing: the SAS is not complete";
  return Number.isNaN(Date.parse(expiry)) ? "se must be a time, such as 2031-12-31T00:00:00Z" : null;
}

/** A service SAS names a resource, an account SAS services and types of resources. */
function scopeFault(parameters: ReadonlyMap<string, string>): string | null {
  const [resource, services, types] = ["sr", "ss", "srt"].map((name) => parameters.get(name));
  if (services === undefined && types === undefined) {
    if (resource === undefined) return "sr is missing: the SAS is not complete";
    return resource === "c" || resource === "d" ? null : "sr must be c: this SAS is for a single blob";
  }
  if (services?.includes("b") !== true) return "ss must hold b: this SAS is not for blobs";
  return types?.includes("o") === true ? null : "srt must hold o: this SAS is not for objects";
}

/** null: it has not expired, or a policy says when. */
export function expiredWords({ expiresMs }: Sas, nowMs: number): string | null {
  if (expiresMs === null || expiresMs > nowMs) return null;
  return `the SAS has expired: its se is ${new Date(expiresMs).toISOString()}; create a new one`;
}

/** Whether it may create blobs, and never write over one. */
export function createsOnly({ permissions }: Sas): boolean {
  return permissions !== null && !permissions.includes("w");
}

/** What it does not allow, and what follows; null: nothing is missing. */
export function remarkOf({ permissions }: Sas): string | null {
  if (permissions === null) return null;
  if (!permissions.includes("r")) {
    return "the SAS is write-only (sp without r): blobs are not verified after a lost answer, and there is no canary, reading or replay";
  }
  return permissions.includes("w") ? null : "the SAS may only create blobs (sp without w): there is no canary";
}
