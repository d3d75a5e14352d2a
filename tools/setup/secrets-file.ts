/**
 * The secrets of a deployment on the machine that set it up. Cloudflare never gives a secret back,
 * so this file is the only copy that can be read.
 */
import { createPrivateKey, createPublicKey } from "node:crypto";
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { SECRETS, type SecretName } from "./project.ts";

export type Secrets = Readonly<Partial<Record<SecretName, string>>>;

const HEAD = `# Secrets of the deployment, made by \`npm run setup\`. Keep a copy where you keep passwords: Cloudflare does not
# give them back. Git ignores this file, and wrangler does not read it.
`;

/** The public half of SIGNING_KEY, for `npm run verify`. It is no secret. */
const PUBLIC_KEY = "SIGNING_PUBLIC_KEY";

/** Before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

function publicKeyOf(key: string): string {
  const der = Buffer.concat([PKCS8_HEAD, Buffer.from(key, "base64")]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return createPublicKey(privateKey).export({ format: "der", type: "spki" }).toString("base64");
}

/** Empty if there is no file. Other lines are left out. */
export function readSecrets(path: string): Secrets {
  if (!existsSync(path)) return {};
  const values = parseEnv(readFileSync(path, "utf8"));
  return Object.fromEntries(SECRETS.flatMap((name) => (values[name] ? [[name, values[name]]] : [])));
}

/** Where the deployment answers. It is no secret. */
const URL_NAME = "LOGSHIP_URL";

/** null: there is no file, or one that an earlier release wrote. */
export function readUrl(path: string): string | null {
  return existsSync(path) ? parseEnv(readFileSync(path, "utf8"))[URL_NAME] || null : null;
}

/** Adds or replaces values. The file is readable by its owner only, and whole at any time. */
export function writeSecrets(path: string, more: Secrets, url = readUrl(path)): void {
  const all = { ...readSecrets(path), ...more };
  const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`);
  if (all.SIGNING_KEY !== undefined) lines.push(`${PUBLIC_KEY}=${publicKeyOf(all.SIGNING_KEY)}\n`);
  if (url !== null) lines.push(`${URL_NAME}=${url}\n`);
  const draft = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(draft, HEAD + lines.join(""), { flag: "wx", mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
