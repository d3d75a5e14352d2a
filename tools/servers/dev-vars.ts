import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { newLinkCode, SIGN_IN_LINK_MS } from "../../src/formats/secrets/sign-in-link.ts";
import { Refusal } from "../command.ts";
import { DEFAULT_PORT, DEV_VARS, localObjectStore, shown } from "../paths.ts";

/** The text of a new `.dev.vars`: every line explained, every secret fresh. */
export function devVarsText(): string {
  return `# Settings and secrets of local development. Created once and never overwritten; delete the file for new
# secrets. It stays on this machine: .gitignore lists it, and a deployment has its own secrets.

# Bearer token with every permission: Authorization: Bearer <ADMIN_TOKEN>.
ADMIN_TOKEN=${randomBytes(32).toString("base64url")}

# AES-256-GCM key, base64 of 32 random bytes: encrypts stored destinations. Without it, stored jobs cannot be read.
SECRETS_KEY=${randomBytes(32).toString("base64")}

# The account in all paths, in place of the one in wrangler.jsonc.
ACCOUNT_ID="local"

# Permits destinations on this machine over plain http. Never set this in a deployment.
ALLOW_LOOPBACK_DESTINATIONS="true"

# The S3 endpoint behind objstore://: the local bucket. \`npm start\` and \`npm run demo\` replace the port
# with the one they use.
OBJSTORE_ENDPOINT="${localObjectStore(`http://localhost:${DEFAULT_PORT}`)}"
`;
}

/**
 * Creates the file if there is none, readable by its owner only. Never overwrites a file, even if
 * two processes start at once.
 * @returns whether it was created.
 */
export function ensureDevVars(path: string = DEV_VARS): boolean {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(draft, devVarsText(), { flag: "wx", mode: 0o600 });
    // A link appears whole or not at all, and never replaces a file.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

export interface DevVars {
  readonly adminToken: string;
  readonly secretsKey: string | undefined;
  /** undefined: wrangler.jsonc decides. */
  readonly accountId: string | undefined;
  /** As written: the local bucket behind some port, or the developer's own store. */
  readonly objstoreEndpoint: string | undefined;
  /** undefined: wrangler.jsonc decides. */
  readonly extraFields: string | undefined;
}

/** As the service takes them: src/config.ts. */
const TOKEN = /^[\x20-\x7e]{16,512}$/;
const KEY = /^[A-Za-z0-9+/]{43}=$/;

/** @throws Refusal that says what to do, if the file cannot be read, or its secrets be used. */
export function readDevVars(path: string = DEV_VARS): DevVars {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Refusal(`cannot read ${path} (${code}): \`npm start\` and \`npm run demo\` create it if it is missing`);
  }
  const vars = parseEnv(text);
  const again = "or delete the file and start again, which makes a new one";
  if (!vars.ADMIN_TOKEN)
    throw new Refusal(`${path} holds no ADMIN_TOKEN: add one (40 to 80 letters, digits, _ or -), ${again}`);
  if (!TOKEN.test(vars.ADMIN_TOKEN))
    throw new Refusal(`${path}: ADMIN_TOKEN must have 16 to 512 printable ASCII characters; correct it, ${again}`);
  if (vars.SECRETS_KEY && !KEY.test(vars.SECRETS_KEY))
    throw new Refusal(`${path}: SECRETS_KEY must be base64 of 32 random bytes; correct it, ${again}`);
  return {
    adminToken: vars.ADMIN_TOKEN,
    secretsKey: vars.SECRETS_KEY || undefined,
    accountId: vars.ACCOUNT_ID || undefined,
    objstoreEndpoint: vars.OBJSTORE_ENDPOINT || undefined,
    extraFields: vars.EXTRA_FIELDS || undefined,
  };
}

/**
 * The line of a link that signs in to the dashboard once, whatever the server's port, until it is
 * used or has expired.
 */
export function signInLine(serverUrl: string, { adminToken, secretsKey }: DevVars): string {
  // Without a key the server does not start a session either: its pages say what is wrong.
  if (secretsKey === undefined) return `${serverUrl}/sign-in  with ADMIN_TOKEN of ${shown(DEV_VARS)}`;
  const code = newLinkCode({ secretsKey: Buffer.from(secretsKey, "base64"), adminToken }, Date.now());
  return `${serverUrl}/sign-in?code=${code}  works once, for ${SIGN_IN_LINK_MS / 60_000} minutes`;
}
