/** The build of the example, and the example's own checks. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BUILT_SECRETS, copyExample } from "../../tools/example/app.ts";
import { wranglerEnv } from "../../tools/servers/dev-server.ts";
import { SupervisedProcess } from "../../tools/servers/supervised.ts";
import { theWorld, type World } from "./world.ts";

let world: World;
/**
 * A copy of the sources: a build leaves its own configuration in the folder, which the tools
 * prefer.
 */
let source: string;

beforeAll(() => {
  world = theWorld();
  source = join(mkdtempSync(join(tmpdir(), "logship-example-")), "app");
  copyExample(source);
});
afterAll(() => rmSync(join(source, ".."), { recursive: true, force: true }));

/** Runs one of the example's tools. @throws Error with its output. */
async function run(name: string, ...argv: readonly string[]): Promise<void> {
  await new SupervisedProcess({ argv: [process.execPath, ...argv], cwd: source, env: wranglerEnv() }).done(name);
}

it("takes its two values from the environment, and nothing else of it", () => {
  const built = parseEnv(readFileSync(join(world.app, BUILT_SECRETS), "utf8"));
  expect(built).toEqual({ PAYMENT_TOKEN: world.paymentToken, SHOP_ADDRESS: world.address });
});

it("lets no other user of the machine read them", () => {
  expect((statSync(join(world.app, BUILT_SECRETS)).mode & 0o777).toString(8)).toBe("600");
});

it("renders the prerendered page with what is public of them, and keeps the token from visitors", () => {
  const client = join(world.app, "dist/client");
  expect(readFileSync(join(client, "about.html"), "utf8")).toContain("Quay 7 &lt;east&gt;</address>");
  const files = readdirSync(client, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const telling = files.filter(({ parentPath, name }) =>
    readFileSync(join(parentPath, name), "utf8").includes(world.paymentToken),
  );
  expect(files.length).toBeGreaterThan(5);
  expect(telling.map(({ name }) => name)).toEqual([]);
});

it("has types that are right, and those of its bindings up to date", async () => {
  await run("tsc", "node_modules/typescript/bin/tsc", "-p", "tsconfig.json");
  await run("wrangler types", "node_modules/wrangler/bin/wrangler.js", "types", "--include-runtime=false", "--check");
});
