import { fromBase64 } from "./base/bytes.ts";
import { FAILING_BY_DEFAULT, FAILING_FAULT, type FailingRules, readFailingRules } from "./base/failing-setting.ts";
import { parseEndpoint } from "./base/hosts.ts";
import { LOG_KEEP_HOURS, OBJECT_STORED_BYTES, SUBREQUESTS } from "./base/limits.ts";
import {
  type PublicKey,
  type PublishedKey,
  published,
  readPrivateKey,
  readPublicKey,
  type Signer,
  signerOf,
} from "./formats/manifest/signing.ts";
import { type MacKey, macKeyOf } from "./formats/queue/mac.ts";
import { isShards, SHARDS_MAX } from "./formats/queue/shard.ts";
import { EXTRA_FIELDS, type ExtraField, isExtraField, TAKEN_FIELDS, type TakenField } from "./formats/record/fields.ts";
import { type CheckKey, checkKeyOf } from "./formats/secrets/check-part.ts";
import { holdsOurs } from "./formats/secrets/credentials.ts";
import type { EncryptionKeys } from "./formats/secrets/encrypted.ts";
import type { LinkSecrets } from "./formats/secrets/sign-in-link.ts";

/** Settings of the environment, beside bindings. Each is checked; any may be missing. */
export interface Settings {
  ACCOUNT_ID?: string;
  ADMIN_TOKEN?: string;
  SECRETS_KEY?: string;
  SECRETS_KEY_PREVIOUS?: string;
  OBJSTORE_ENDPOINT?: string;
  ALLOW_LOOPBACK_DESTINATIONS?: string;
  DESTINATION_BINDINGS?: string;
  REQUIRE_OWNERSHIP_CHALLENGE?: string;
  PREVIEW_RECENT?: string;
  EXTRA_FIELDS?: string;
  LOG_SHARDS?: string;
  LOG_KEEP_HOURS?: string;
  KEY_SHARDS?: string;
  FUNCTION_FAILING?: string;
  SUBREQUESTS_MAX?: string;
  OBJECT_STORED_MAX_BYTES?: string;
  SELF_NAME?: string;
  DEFAULT_SCRIPT_NAME?: string;
  LOCAL_FUNCTIONS?: string;
  UPSTREAM_API?: string;
  UPSTREAM_TOKEN?: string;
  SIGNING_KEY?: string;
  SIGNING_KEYS_PREVIOUS?: string;
}

/** What reading a `destination_conf` depends on besides the string. */
export interface DestinationContext {
  /** Endpoint behind `objstore://`; may contain `{account-id}`. */
  objstoreEndpoint: string;
  /** Plain `http://` to local hosts is permitted (local development only): src/base/hosts.ts. */
  allowLoopback: boolean;
  /** A secret by its name, for `credentials=env:DEST_<NAME>`. */
  secret(name: string): string | undefined;
  /**
   * An R2 bucket of the worker, by its name. `unlisted`: `DESTINATION_BINDINGS` does not name it.
   * `unbound`: it does, and there is none. `other`: that is no R2 bucket.
   */
  binding(name: string): R2Bucket | "unlisted" | "unbound" | "other";
}

export interface Config extends Access {
  keys: EncryptionKeys;
  destinations: DestinationContext;
  /** Bindings of R2 buckets that any job may ship to. */
  bindings: readonly string[];
  /** Creating or moving a job needs a proof that its creator can read the destination. */
  requireOwnershipChallenge: boolean;
  /** Previews show recent events. */
  previewRecent: boolean;
  /** Fields that jobs may ship beside those of a record. */
  extraFields: readonly ExtraField[];
  /**
   * Origin of the function host, which runs uploaded functions in local development; null: none.
   */
  localFunctions: string | null;
  /** The platform's own API, behind the script routes; null: none. */
  upstream: Upstream | null;
}

/** The platform's API, to which script routes forward. */
export interface Upstream {
  /** Base URL, without a slash at its end: what comes before `/accounts/…`. */
  base: string;
  /** Name of this service, to which functions are attached. */
  selfName: string;
  /**
   * A bearer that may read scripts, to check that functions are still attached. Only sent to
   * `base`. null: no checks.
   */
  token: string | null;
}

export type ConfigResult = { ok: true; config: Config } | { ok: false; faults: string[] };

/** The platform's own object storage: the default endpoint. */
export const DEFAULT_OBJSTORE_ENDPOINT = "https://{account-id}.r2.cloudflarestorage.com";

/** What intake needs. Everything has a default, so that no typo costs an event. */
export interface IntakeConfig {
  selfName: string | null;
  defaultScriptName: string;
  /** Absent: messages are not sealed. */
  seal?: MacKey;
  /** Extra fields that are taken from events; absent: none. */
  extraFields?: readonly TakenField[];
  /** Shards of the log that parts without a key are spread over. */
  shards: number;
}

export function readIntakeConfig(env: object): IntakeConfig {
  const settings = env as Settings;
  const [seal] = readMacKeys(env);
  const on = settings.EXTRA_FIELDS ? (readExtraFields(env) ?? []) : [];
  const extraFields = TAKEN_FIELDS.filter((name) => on.includes(name));
  return {
    selfName: settings.SELF_NAME || null,
    defaultScriptName: settings.DEFAULT_SCRIPT_NAME || "unnamed",
    ...(seal && { seal }),
    ...(extraFields.length > 0 && { extraFields }),
    shards: readLogShards(env) ?? 1,
  };
}

/** Shards of the log that parts without a key are spread over. null: malformed. */
export function readLogShards(env: object): number | null {
  return shardsOf((env as Settings).LOG_SHARDS);
}

/**
 * The same of parts with a key: a number that is set once, as a repeat under another would be
 * another request. null: malformed.
 */
export function readKeyShards(env: object): number | null {
  return shardsOf((env as Settings).KEY_SHARDS);
}

/** How long the log keeps what it has taken in, in ms; 0: no longer than its readers need. */
export function readKeepMs(env: object): number {
  return (keepHoursOf(env) ?? LOG_KEEP_HOURS.fallback) * 3_600_000;
}

/** null: malformed. */
function keepHoursOf(env: object): number | null {
  return wholeIn((env as Settings).LOG_KEEP_HOURS, LOG_KEEP_HOURS);
}

/** A whole number in its bounds; null: malformed. A var in wrangler.jsonc may be a number. */
function wholeIn(
  setting: unknown,
  { min, max, fallback }: { min: number; max: number; fallback: number },
): number | null {
  const text = `${setting ?? ""}` || `${fallback}`;
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : null;
}

/** A var in wrangler.jsonc may be a number. */
function shardsOf(setting: unknown): number | null {
  const number = Number(setting || 1);
  return isShards(number) ? number : null;
}

/** Calls that one invocation may make. A malformed setting is as good as none. */
export function readSubrequests(env: object): number {
  return subrequestsOf(env) ?? SUBREQUESTS.fallback;
}

/** null: malformed. */
function subrequestsOf(env: object): number | null {
  return wholeIn((env as Settings).SUBREQUESTS_MAX, SUBREQUESTS);
}

/** What a setting lists, separated by commas; null: it is no text. */
function listIn(setting: unknown): string[] | null {
  if (!setting) return [];
  return typeof setting === "string" ? setting.split(",").map((text) => text.trim()) : null;
}

/** null: malformed. */
export function readExtraFields(env: object): ExtraField[] | null {
  const names = listIn((env as Settings).EXTRA_FIELDS);
  return names?.every(isExtraField) ? EXTRA_FIELDS.filter((name) => names.includes(name)) : null;
}

/** When a function is said to fail. A malformed setting is as good as none. */
export function readFunctionFailing(env: object): FailingRules {
  return readFailingRules((env as Settings).FUNCTION_FAILING) ?? FAILING_BY_DEFAULT;
}

/** Who signs manifests. A malformed key is as good as none, and none is written. */
export interface Signing {
  isOn: boolean;
  /** null: it is off. */
  signer(): Promise<Signer | null>;
}

/** That of the key which was used last. */
let signing: (Signing & { from: string }) | null = null;

export function readSigning(env: object): Signing {
  const { SIGNING_KEY: from = "" } = env as Settings;
  if (signing?.from !== from) {
    const seed = readPrivateKey(from);
    let made: Promise<Signer> | null = null;
    const signer = async (): Promise<Signer | null> => {
      made ??= seed === null ? null : signerOf(seed);
      return made;
    };
    signing = { from, isOn: seed !== null, signer };
  }
  return signing;
}

/** Public keys whose private halves signed earlier manifests; null: malformed. */
function readPreviousKeys(env: object): PublicKey[] | null {
  const keys = listIn((env as Settings).SIGNING_KEYS_PREVIOUS)?.map(readPublicKey);
  return keys?.every((key) => key !== null) ? keys : null;
}

/** What `/.well-known/logship-keys.json` says. Malformed keys are left out. */
export async function publishedKeys(env: object): Promise<PublishedKey[]> {
  const current = await readSigning(env).signer();
  const previous = (readPreviousKeys(env) ?? []).filter(({ id }) => id !== current?.publicKey.id);
  return [
    ...(current === null ? [] : [published(current.publicKey, "current")]),
    ...previous.map((key) => published(key, "previous")),
  ];
}

/** Bindings that any job may ship to; null: malformed. */
function readBindings(env: object): string[] | null {
  const names = listIn((env as Settings).DESTINATION_BINDINGS);
  return names?.every((name) => /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) ? names : null;
}

/** A KV namespace has no `head`, a durable object's namespace and a queue no `put`. */
function isR2Bucket(value: unknown): value is R2Bucket {
  if (typeof value !== "object" || value === null) return false;
  return ["put", "head", "get", "createMultipartUpload"].every(
    (name) => typeof Reflect.get(value, name) === "function",
  );
}

/**
 * Whether this is local development, where the platform gives the trace items of another process as
 * plain objects.
 */
export function readIsLocal(env: object): boolean {
  return (env as Settings).ALLOW_LOOPBACK_DESTINATIONS === "true";
}

/**
 * Most bytes of an object as it is stored. null: malformed; {@link OBJECT_STORED_BYTES} has what
 * counts then.
 */
export function readStoredMaxBytes(env: object): number | null {
  return wholeIn((env as Settings).OBJECT_STORED_MAX_BYTES, OBJECT_STORED_BYTES);
}

export type LocalFunctionsResult = { ok: true; origin: string | null } | { ok: false; fault: string };

/**
 * Where uploaded functions run. Each has its own host name below it; only `localhost` has such
 * names without any setup.
 */
export function readLocalFunctions(env: object): LocalFunctionsResult {
  const { LOCAL_FUNCTIONS: setting } = env as Settings;
  if (!setting) return { ok: true, origin: null };
  const { hostname, origin } = URL.canParse(setting) ? new URL(setting) : { hostname: "", origin: "" };
  return hostname === "localhost" && /^http:/.test(origin) && setting.replace(/\/$/, "") === origin
    ? { ok: true, origin }
    : { ok: false, fault: "LOCAL_FUNCTIONS: http://localhost:<port>, or absent" };
}

const SHARDS_WORDS = `a power of two from 1 to ${SHARDS_MAX}, or absent`;

const STORED_MAX_FAULT = `OBJECT_STORED_MAX_BYTES: a whole number of bytes from ${OBJECT_STORED_BYTES.min} to ${OBJECT_STORED_BYTES.max}, or absent`;

const ACCOUNT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What it takes to authenticate a caller. */
export interface Access {
  accountId: string;
  adminToken: string;
}

export type AccessResult = { ok: true; access: Access } | { ok: false; faults: string[] };

/** null: malformed, so that it authenticates no caller. */
export function readAdminToken(env: object): string | null {
  const { ADMIN_TOKEN: token = "" } = env as Settings;
  return /^[\u0021-\u007e]{16,512}$/.test(token) ? token : null;
}

/** The settings for authentication and for the account. */
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

/**
 * The keys for what is stored, even if other settings are malformed. null: nothing can be
 * decrypted.
 */
export function readEncryption(env: object): { accountId: string; keys: EncryptionKeys } | null {
  const { ACCOUNT_ID: accountId = "", SECRETS_KEY, SECRETS_KEY_PREVIOUS } = env as Settings;
  const current = keyOf(SECRETS_KEY);
  if (!ACCOUNT_ID.test(accountId) || current === null) return null;
  return { accountId, keys: { current, previous: SECRETS_KEY_PREVIOUS ? keyOf(SECRETS_KEY_PREVIOUS) : null } };
}

/** The keys that were derived last, and from what. */
let derived: { from: string; keys: readonly CheckKey[]; seals: readonly MacKey[] } | null = null;

/**
 * What proves the check parts of our secrets, current first, even if other settings are malformed.
 * Without a well-formed SECRETS_KEY there is none: then the register is asked about every secret.
 */
export function readCheckKeys(env: object): readonly CheckKey[] {
  return derivedKeys(env).keys;
}

/** What proves the seals of messages, current first. Without a well-formed SECRETS_KEY: none. */
export function readMacKeys(env: object): readonly MacKey[] {
  return derivedKeys(env).seals;
}

function derivedKeys(env: object): NonNullable<typeof derived> {
  const { SECRETS_KEY = "", SECRETS_KEY_PREVIOUS = "" } = env as Settings;
  const from = `${SECRETS_KEY} ${SECRETS_KEY_PREVIOUS}`;
  if (derived?.from !== from) {
    const keys = [keyOf(SECRETS_KEY), keyOf(SECRETS_KEY_PREVIOUS)].filter((key) => key !== null);
    derived = { from, keys: keys.map(checkKeyOf), seals: keys.map(macKeyOf) };
  }
  return derived;
}

/**
 * What sign-in links are signed with: who holds both secrets can make one. null: no links, as one
 * of them is malformed.
 */
export function readLinkSecrets(env: object): LinkSecrets | null {
  const [secretsKey, adminToken] = [keyOf((env as Settings).SECRETS_KEY), readAdminToken(env)];
  return secretsKey !== null && adminToken !== null ? { secretsKey, adminToken } : null;
}

/** Checks the settings. Faults name what a value should be, never the value: some are secrets. */
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
  if (settings.SIGNING_KEY && !readSigning(env).isOn) faults.push("SIGNING_KEY: base64 of 32 random bytes, or absent");
  if (readPreviousKeys(env) === null)
    faults.push(
      "SIGNING_KEYS_PREVIOUS: public keys as /.well-known/logship-keys.json has them, separated by commas, or absent",
    );
  if (subrequestsOf(env) === null)
    faults.push(`SUBREQUESTS_MAX: an integer from ${SUBREQUESTS.min} to ${SUBREQUESTS.max}, or absent`);
  if (readLogShards(env) === null) faults.push(`LOG_SHARDS: ${SHARDS_WORDS}`);
  if (readKeyShards(env) === null) faults.push(`KEY_SHARDS: ${SHARDS_WORDS}`);
  if (keepHoursOf(env) === null) faults.push(`LOG_KEEP_HOURS: whole hours from 0 to ${LOG_KEEP_HOURS.max}, or absent`);
  if (readStoredMaxBytes(env) === null) faults.push(STORED_MAX_FAULT);
  const extraFields = readExtraFields(env);
  if (extraFields === null)
    faults.push(`EXTRA_FIELDS: names out of ${EXTRA_FIELDS.join(", ")}, separated by commas, or absent`);
  if (readFailingRules(settings.FUNCTION_FAILING) === null) faults.push(FAILING_FAULT);
  if (readBindings(env) === null)
    faults.push("DESTINATION_BINDINGS: names of bindings of R2 buckets, separated by commas, or absent");
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
  const bindings = readBindings(env) ?? [];
  const binding: DestinationContext["binding"] = (name) => {
    if (!bindings.includes(name)) return "unlisted";
    const value: unknown = Reflect.get(env, name);
    if (value === undefined || value === null) return "unbound";
    return isR2Bucket(value) ? value : "other";
  };
  const secret = (name: string): string | undefined => {
    const value: unknown = name.startsWith("DEST_") ? Reflect.get(env, name) : undefined;
    return typeof value === "string" ? value : undefined;
  };
  return {
    ok: true,
    config: {
      ...access.access,
      keys: { current, previous },
      destinations: { objstoreEndpoint, allowLoopback, secret, binding },
      bindings,
      requireOwnershipChallenge,
      previewRecent,
      extraFields: extraFields ?? [],
      localFunctions: local.origin,
      upstream: upstream.upstream,
    },
  };
}

/** Whether the platform judges bearers that are not ours, even if UPSTREAM_API is malformed. */
export function hasUpstream(env: object): boolean {
  return Boolean((env as Settings).UPSTREAM_API);
}

type UpstreamResult = { ok: true; upstream: Upstream | null } | { ok: false; faults: string[] };

function readUpstream(settings: Settings, allowLoopback: boolean): UpstreamResult {
  const { UPSTREAM_API: setting, SELF_NAME: selfName } = settings;
  const token = settings.UPSTREAM_TOKEN || null;
  const tokenFaults = isUpstreamToken(token, settings) ? [] : [UPSTREAM_TOKEN_FAULT];
  if (!setting) return tokenFaults.length > 0 ? { ok: false, faults: tokenFaults } : { ok: true, upstream: null };
  // Unlike an endpoint of a store, it may have a path.
  const endpoint = /^https?:\/\//i.test(setting)
    ? parseEndpoint(setting, "UPSTREAM_API", allowLoopback)
    : ({ ok: false, why: "UPSTREAM_API must begin with https://" } as const);
  const faults = [...tokenFaults];
  if (!endpoint.ok)
    faults.push(`UPSTREAM_API: the base URL of Cloudflare's API, https://…/client/v4, or absent: ${endpoint.why}`);
  if (!selfName) faults.push("SELF_NAME: this Worker's own name, to which Workers are attached with UPSTREAM_API");
  if (!endpoint.ok || !selfName || faults.length > 0) return { ok: false, faults };
  const { origin, pathname } = endpoint.value;
  return { ok: true, upstream: { base: origin + pathname.replace(/\/+$/, ""), selfName, token } };
}

const UPSTREAM_TOKEN_FAULT =
  "UPSTREAM_TOKEN: a bearer token of Cloudflare, 16 to 512 printable ASCII characters, none of this service's own; or absent";

/** Our own secrets are never sent on, even if configured so. */
function isUpstreamToken(token: string | null, settings: Settings): boolean {
  if (token === null) return true;
  const adminToken = readAdminToken(settings);
  return /^[\u0021-\u007e]{16,512}$/.test(token) && (adminToken === null || !holdsOurs(token, adminToken));
}

function keyOf(text: string | undefined): Uint8Array | null {
  if (text === undefined || !/^[A-Za-z0-9+/]{43}=$/.test(text)) return null;
  return fromBase64(text);
}
