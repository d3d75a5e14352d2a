import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { DEFAULT_PORT, DEV_VARS, localObjectStore } from "../paths.ts";

/** The text of a new `.dev.vars`: every line explained, every secret fresh. */
export function devVarsText(): string {
  return `# Settings and secrets of local development, read by \`wrangler dev\`. Created once by tools/servers/dev-vars.ts and never overwritten;
# delete the file for new ones. It stays on this machine: .gitignore lists it, and a deployment has secrets of its own.

# Bearer token with every permission: Authorization: Bearer <ADMIN_TOKEN>.
ADMIN_TOKEN=${randomBytes(24).toString("base64url")}

# AES-256-GCM key, base64 of 32 random bytes: encrypts the destinations that are stored. Without it, stored jobs cannot be opened.
SECRETS_KEY=${randomBytes(32).toString("base64")}

# The account in all paths, whatever wrangler.jsonc has for the deployment.
ACCOUNT_ID="local"

# Permits destinations on this machine over plain http. Never set it in a deployment.
ALLOW_LOOPBACK_DESTINATIONS="true"

# The S3 endpoint behind objstore://, here the local bucket that \`wrangler dev\` serves itself. \`npm start\` and \`npm run demo\` put the
# port that they really use in its place.
OBJSTORE_ENDPOINT="${localObjectStore(`http://localhost:${DEFAULT_PORT}`)}"
`;
}

/**
 * Creates the file if there is none, readable by its owner only. Never overwrites one, not even when two processes start at once.
 * @returns whether it was created.
 */
export function ensureDevVars(path: string = DEV_VARS): boolean {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(draft, devVarsText(), { flag: "wx", mode: 0o600 });
    // A link appears whole or not at all, and never in place of another file.
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
  /** Of the file; undefined where wrangler.jsonc decides. */
  readonly accountId: string | undefined;
  /** As the file has it: the local bucket behind some port, or a store of the developer's own. */
  readonly objstoreEndpoint: string | undefined;
}

/** @throws Error that says what to do, if the file is not there or holds no token. */
export function readDevVars(path: string = DEV_VARS): DevVars {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`cannot read ${path}; \`npm start\` and \`npm run demo\` create it if it is missing`, {
      cause: error,
    });
  }
  const vars = parseEnv(text);
  if (!vars.ADMIN_TOKEN) {
    throw new Error(
      `${path} holds no ADMIN_TOKEN: add one (16 or more characters), or delete the file and start again`,
    );
  }
  return {
    adminToken: vars.ADMIN_TOKEN,
    accountId: vars.ACCOUNT_ID || undefined,
    objstoreEndpoint: vars.OBJSTORE_ENDPOINT || undefined,
  };
}
