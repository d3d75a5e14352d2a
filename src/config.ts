import { holdsOurs } from "./access/credentials.ts";
import { fromBase64 } from "./bytes.ts";
import { parseEndpoint } from "./destinations/conf.ts";
import type { DestinationContext } from "./destinations/destination.ts";
import type { SealingKeys } from "./job/secrets.ts";

/** What the environment may hold beside bindings; each is checked, none is trusted to be there. */
export interface Settings {
  ACCOUNT_ID?: string;
  ADMIN_TOKEN?: string;
  SECRETS_KEY?: string;
  SECRETS_KEY_PREVIOUS?: string;
  OBJSTORE_ENDPOINT?: string;
  ALLOW_LOOPBACK_DESTINATIONS?: string;
  REQUIRE_OWNERSHIP_CHALLENGE?: string;
  PREVIEW_RECENT?: string;
  SELF_NAME?: string;
  DEFAULT_SCRIPT_NAME?: string;
  LOCAL_FUNCTIONS?: string;
  UPSTREAM_API?: string;
  UPSTREAM_TOKEN?: string;
}

export interface Config extends Access {
  keys: SealingKeys;
  destinations: DestinationContext;
  /** A job needs a proof that whoever creates or moves it can read its destination. */
  requireOwnershipChallenge: boolean;
  /** Recent events are held in memory, for previews. */
  previewRecent: boolean;
  /** Origin of the function host, where uploaded functions run in local development; null: nowhere. */
  localFunctions: string | null;
  /** The platform's own API, behind the script routes; null: there is none. */
  upstream: Upstream | null;
}

/** Where script routes lead on to. */
export interface Upstream {
  /** Base URL, without a slash at its end: what stands before `/accounts/…`. */
  base: string;
  /** The service that a function is attached to: this one. */
  selfName: string;
  /** A bearer that may read scripts there: only ever sent to `base`, to look whether functions are still attached. null: nobody looks. */
  token: string | null;
}

export type ConfigResult = { ok: true; config: Config } | { ok: false; faults: string[] };

/** The platform's own object storage, where no other endpoint is configured. */
export const DEFAULT_OBJSTORE_ENDPOINT = "https://{account-id}.r2.cloudflarestorage.com";

/** What intake needs; it has a default for everything, as no typo may cost an event. */
export interface IntakeConfig {
  selfName: string | null;
  defaultScriptName: string;
}

export function readIntakeConfig(env: object): IntakeConfig {
  const settings = env as Settings;
  return { selfName: settings.SELF_NAME || null, defaultScriptName: settings.DEFAULT_SCRIPT_NAME || "unnamed" };
}

/** Whether recent events may be held for previews. For whom it matters that they are not, a typo holds none. */
export function readPreviewRecent(env: object): boolean {
  return ((env as Settings).PREVIEW_RECENT || "true") === "true";
}

export type LocalFunctionsResult = { ok: true; origin: string | null } | { ok: false; fault: string };

/** Where uploaded functions run. Each has a host name of its own below it, which nothing but `localhost` has without being set up. */
export function readLocalFunctions(env: object): LocalFunctionsResult {
  const { LOCAL_FUNCTIONS: setting } = env as Settings;
  if (!setting) return { ok: true, origin: null };
  const { hostname, origin } = URL.canParse(setting) ? new URL(setting) : { hostname: "", origin: "" };
  return hostname === "localhost" && /^http:/.test(origin) && setting.replace(/\/$/, "") === origin
    ? { ok: true, origin }
    : { ok: false, fault: "LOCAL_FUNCTIONS: http://localhost:<port>, or absent" };
}

const ACCOUNT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What it takes to know a caller. */
export interface Access {
  accountId: string;
  adminToken: string;
}

export type AccessResult = { ok: true; access: Access } | { ok: false; faults: string[] };

/** null: it is malformed, and nobody can be known by it. */
export function readAdminToken(env: object): string | null {
  const { ADMIN_TOKEN: token = "" } = env as Settings;
  return /^[\u0021-\u007e]{16,512}$/.test(token) ? token : null;
}

/** The part of the settings that says who may call, and for which account. */
export function readAccess(env: object): AccessResult {
  const settings = env as Settings;
  const faults: string[] = [];
  const accountId = settings.ACCOUNT_ID ?? "";
  if (!ACCOUNT_ID.test(accountId)) faults.push("ACCOUNT_ID: 1 to 64 letters, digits, dashes or underscores");
  const adminToken = readAdminToken(env);
  if (adminToken === null) faults.push("ADMIN_TOKEN: a secret of 16 to 512 printable ASCII characters");
  return faults.length > 0 || adminToken === null
    ? { ok: false, faults }
    : { ok: true, access: { accountId, adminToken } };
}

/** What it takes to open what is stored: whatever else is malformed, somebody can still be told. null: nothing can be opened. */
export function readSealing(env: object): { accountId: string; keys: SealingKeys } | null {
  const { ACCOUNT_ID: accountId = "", SECRETS_KEY, SECRETS_KEY_PREVIOUS } = env as Settings;
  const current = keyOf(SECRETS_KEY);
  if (!ACCOUNT_ID.test(accountId) || current === null) return null;
  return { accountId, keys: { current, previous: SECRETS_KEY_PREVIOUS ? keyOf(SECRETS_KEY_PREVIOUS) : null } };
}

/** Checks the settings, and names every fault with what it should be. Values are never repeated: some are secrets. */
export function readConfig(env: object): ConfigResult {
  const settings = env as Settings;
  const access = readAccess(env);
  const faults = access.ok ? [] : [...access.faults];
  const current = keyOf(settings.SECRETS_KEY);
  if (current === null) faults.push("SECRETS_KEY: base64 of 32 random bytes");
  const previous = settings.SECRETS_KEY_PREVIOUS ? keyOf(settings.SECRETS_KEY_PREVIOUS) : null;
  if (settings.SECRETS_KEY_PREVIOUS && previous === null)
    faults.push("SECRETS_KEY_PREVIOUS: base64 of 32 random bytes, or absent");
  const readFlag = (
    name: "ALLOW_LOOPBACK_DESTINATIONS" | "REQUIRE_OWNERSHIP_CHALLENGE" | "PREVIEW_RECENT",
    fallback: "true" | "false" = "false",
  ): boolean => {
    const value = settings[name] || fallback;
    if (value !== "true" && value !== "false") faults.push(`${name}: "true", "false" or absent`);
    return value === "true";
  };
  const allowLoopback = readFlag("ALLOW_LOOPBACK_DESTINATIONS");
  const requireOwnershipChallenge = readFlag("REQUIRE_OWNERSHIP_CHALLENGE");
  const previewRecent = readFlag("PREVIEW_RECENT", "true");
  const objstoreEndpoint = settings.OBJSTORE_ENDPOINT || DEFAULT_OBJSTORE_ENDPOINT;
  const endpoint = parseEndpoint(
    objstoreEndpoint.replaceAll("{account-id}", "account"),
    "OBJSTORE_ENDPOINT",
    allowLoopback,
  );
  if (!endpoint.ok) faults.push(`OBJSTORE_ENDPOINT: an https:// URL, which may contain {account-id}: ${endpoint.why}`);
  const local = readLocalFunctions(env);
  if (!local.ok) faults.push(local.fault);
  const upstream = readUpstream(settings, allowLoopback);
  if (!upstream.ok) faults.push(...upstream.faults);
  if (faults.length > 0 || current === null || !access.ok || !local.ok || !upstream.ok) return { ok: false, faults };
  const secret = (name: string): string | undefined => {
    const value: unknown = name.startsWith("DEST_") ? Reflect.get(env, name) : undefined;
    return typeof value === "string" ? value : undefined;
  };
  return {
    ok: true,
    config: {
      ...access.access,
      keys: { current, previous },
      destinations: { objstoreEndpoint, allowLoopback, secret },
      requireOwnershipChallenge,
      previewRecent,
      localFunctions: local.origin,
      upstream: upstream.upstream,
    },
  };
}

/** Whether the platform is to judge the bearers that are not ours, however well it is said where it is. */
export function hasUpstream(env: object): boolean {
  return Boolean((env as Settings).UPSTREAM_API);
}

type UpstreamResult = { ok: true; upstream: Upstream | null } | { ok: false; faults: string[] };

function readUpstream(settings: Settings, allowLoopback: boolean): UpstreamResult {
  const { UPSTREAM_API: setting, SELF_NAME: selfName } = settings;
  const token = settings.UPSTREAM_TOKEN || null;
  const tokenFaults = isUpstreamToken(token, settings) ? [] : [UPSTREAM_TOKEN_FAULT];
  if (!setting) return tokenFaults.length > 0 ? { ok: false, faults: tokenFaults } : { ok: true, upstream: null };
  // Unlike an endpoint, it is no mere host: the vendor's has a path.
  const endpoint = /^https?:\/\//i.test(setting)
    ? parseEndpoint(setting, "UPSTREAM_API", allowLoopback)
    : ({ ok: false, why: "UPSTREAM_API must begin with https://" } as const);
  const faults = [...tokenFaults];
  if (!endpoint.ok)
    faults.push(`UPSTREAM_API: the base URL of the platform's API, https://…/client/v4, or absent: ${endpoint.why}`);
  if (!selfName) faults.push("SELF_NAME: this function's own name, which functions are attached to with UPSTREAM_API");
  if (!endpoint.ok || !selfName || faults.length > 0) return { ok: false, faults };
  const { origin, pathname } = endpoint.value;
  return { ok: true, upstream: { base: origin + pathname.replace(/\/+$/, ""), selfName, token } };
}

const UPSTREAM_TOKEN_FAULT =
  "UPSTREAM_TOKEN: a bearer token of the platform's, 16 to 512 printable ASCII characters, none of this service's own; or absent";

/** What opens this service is never sent on, whoever configured it. */
function isUpstreamToken(token: string | null, settings: Settings): boolean {
  if (token === null) return true;
  const adminToken = readAdminToken(settings);
  return /^[\u0021-\u007e]{16,512}$/.test(token) && (adminToken === null || !holdsOurs(token, adminToken));
}

function keyOf(text: string | undefined): Uint8Array | null {
  if (text === undefined || !/^[A-Za-z0-9+/]{43}=$/.test(text)) return null;
  return fromBase64(text);
}
