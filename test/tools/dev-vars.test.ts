import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "vitest";
import { readLinkCode } from "../../src/formats/secrets/sign-in-link.ts";
import { ensureDevVars, readDevVars, signInLine } from "../../tools/servers/dev-vars.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "logship-dev-vars-"));
  path = join(folder, ".dev.vars");
});

afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

function settingOf(name: string): string {
  return new RegExp(`^${name}="?([^"\n]*)"?$`, "m").exec(readFileSync(path, "utf8"))?.[1] ?? "";
}

describe("ensureDevVars", () => {
  it("creates a file that only its owner reads, with everything local development needs", ({ expect }) => {
    expect(ensureDevVars(path)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(settingOf("ADMIN_TOKEN")).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(Buffer.from(settingOf("SECRETS_KEY"), "base64")).toHaveLength(32);
    expect(settingOf("ACCOUNT_ID")).toBe("local");
    expect(settingOf("ALLOW_LOOPBACK_DESTINATIONS")).toBe("true");
    expect(settingOf("OBJSTORE_ENDPOINT")).toBe("http://localhost:8787/cdn-cgi/local/r2/s3");
    expect(readdirSync(folder)).toEqual([".dev.vars"]);
  });

  it("makes other secrets each time", ({ expect }) => {
    ensureDevVars(path);
    const first = [settingOf("ADMIN_TOKEN"), settingOf("SECRETS_KEY")];
    rmSync(path);
    ensureDevVars(path);
    expect(settingOf("ADMIN_TOKEN")).not.toBe(first[0]);
    expect(settingOf("SECRETS_KEY")).not.toBe(first[1]);
  });

  it("leaves a file alone that is there, whatever it holds", ({ expect }) => {
    writeFileSync(path, "ADMIN_TOKEN=mine\n", { mode: 0o644 });
    expect(ensureDevVars(path)).toBe(false);
    expect(readFileSync(path, "utf8")).toBe("ADMIN_TOKEN=mine\n");
    expect(readdirSync(folder)).toEqual([".dev.vars"]);
  });
});

describe("readDevVars", () => {
  it("gives a sign-in link that the secrets of the file verify, and none without a key", ({ expect }) => {
    ensureDevVars(path);
    const vars = readDevVars(path);
    const line = signInLine("http://localhost:1", vars);
    const code = /^http:\/\/localhost:1\/sign-in\?code=(\S+) {2}works once, for 10 minutes$/.exec(line)?.[1] ?? "";
    const secrets = { secretsKey: Buffer.from(vars.secretsKey ?? "", "base64"), adminToken: vars.adminToken };
    expect(readLinkCode(code, secrets, Date.now()).kind).toBe("valid");
    expect(readLinkCode(code, { ...secrets, adminToken: "another" }, Date.now()).kind).toBe("unknown");
    expect(line).not.toContain(vars.adminToken);
    expect(signInLine("http://localhost:1", { ...vars, secretsKey: undefined })).toMatch(
      /\/sign-in {2}with ADMIN_TOKEN/,
    );
  });

  it("reads a file of the developer's own, quoted or not", ({ expect }) => {
    writeFileSync(path, "# mine\nADMIN_TOKEN='quoted-token-0123'\nACCOUNT_ID=acme\n");
    expect(readDevVars(path)).toMatchObject({ adminToken: "quoted-token-0123", accountId: "acme" });
  });

  it("says what to do when there is no file, or no token in it", ({ expect }) => {
    expect(() => readDevVars(path)).toThrow(/cannot read .*npm start/);
    writeFileSync(path, "SECRETS_KEY=x\n");
    expect(() => readDevVars(path)).toThrow(/holds no ADMIN_TOKEN/);
    writeFileSync(path, "ADMIN_TOKEN=short\n");
    expect(() => readDevVars(path)).toThrow(/ADMIN_TOKEN must have 16 to 512/);
    writeFileSync(path, "ADMIN_TOKEN=long-enough-for-it-0123\nSECRETS_KEY=x\n");
    expect(() => readDevVars(path)).toThrow(/SECRETS_KEY must be base64/);
    rmSync(path);
    mkdirSync(path);
    expect(() => readDevVars(path)).toThrow(/cannot read .* \(EISDIR\)/);
  });
});
