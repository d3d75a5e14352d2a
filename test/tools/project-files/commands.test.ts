import { spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT, SHIPPER_CONFIG } from "../../../tools/paths.ts";
import { attachAll } from "../../../tools/project-files/attaching.ts";
import { folderOf } from "./temporary.ts";

const TIMEOUT_MS = 20_000;

/** Runs a command as npm does: in the project's root, with the user's folder in INIT_CWD. */
function run(command: "attach" | "doctor", args: string[], folder: string, more: NodeJS.ProcessEnv = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, `tools/${command}.ts`), ...args], {
    cwd: ROOT,
    env: { ...process.env, INIT_CWD: folder, ...more },
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  return { code: status, out: stdout, err: stderr };
}

const SHOP = `{
  "name": "shop", // ours
  "logship": true,
  "env": {
    "production": {},
    "playground": { "logship": false }
  }
}
`;

describe("npm run attach", () => {
  it("does nothing where npm took an option for itself, as -- was forgotten", () => {
    const folder = folderOf({ "shop/wrangler.jsonc": SHOP });
    const { code, err } = run("attach", ["shop"], folder, {
      npm_config_dry_run: "true",
      npm_lifecycle_event: "attach",
    });
    expect(code).toBe(2);
    expect(err).toContain("npm took --dry-run for itself, and nothing was done: write npm run attach -- --dry-run");
    expect(readFileSync(join(folder, "shop/wrangler.jsonc"), "utf8")).toBe(SHOP);
  });

  it("says what a build has to write first, and names what Nuxt builds", () => {
    const folder = folderOf({
      "next/wrangler.jsonc": '{ "name": "next", "main": ".open-next/worker.js" }\n',
      "site/nuxt.config.ts": "",
    });
    const { code, out } = run("attach", ["--all", ".", "--yes"], folder);
    expect(code).toBe(0);
    expect(out).toMatch(/1 file written\..*A build generates \.open-next\/worker\.js: build first/s);
    expect(out).toContain("note: site: Nuxt writes its project file.");
    expect(run("doctor", ["."], folder).out).toContain("note: site: Nuxt writes its project file.");
  });

  it("attaches by a relative path, says where, and what follows; a second time there is nothing to do", () => {
    const folder = folderOf({ "shop/wrangler.jsonc": SHOP });
    const first = run("attach", ["shop"], folder);
    expect(first).toEqual({
      code: 0,
      err: "",
      out: `shop/wrangler.jsonc, consumer "logship"
  the top level: attached (logship is true)
  environment "production": attached (logship is true at the top level, which it inherits)
  environment "playground": left alone: logship is false

This takes effect with the next deployment:
  npx wrangler deploy --config shop/wrangler.jsonc --env ""
  npx wrangler deploy --config shop/wrangler.jsonc --env production
`,
    });
    const path = join(folder, "shop/wrangler.jsonc");
    const attached = readFileSync(path, "utf8");
    expect(attached).toBe(
      SHOP.replace(
        '"production": {}',
        '"production": {\n      "tail_consumers": [{ "service": "logship" }]\n    }',
      ).replace("  }\n}\n", '  },\n  "tail_consumers": [{ "service": "logship" }]\n}\n'),
    );
    const { mtimeMs, ino } = statSync(path);
    const second = run("attach", [path], folder);
    expect(second.code).toBe(0);
    expect(second.out).toContain('environment "production": was attached already');
    expect(second.out).toMatch(/\n\nNothing to do\.\n$/);
    expect([statSync(path).mtimeMs, statSync(path).ino]).toEqual([mtimeMs, ino]);
    expect(run("attach", ["--detach", "shop"], folder).code).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(SHOP);
    expect(readdirSync(join(folder, "shop"))).toEqual(["wrangler.jsonc"]);
  });

  it("shows with --dry-run what would change, and writes nothing", () => {
    const folder = folderOf({ "wrangler.toml": 'name = "shop"\r\n\r\n[vars]\r\nA = 1\r\n' });
    const { code, out } = run("attach", [".", "--dry-run"], folder);
    expect(code).toBe(0);
    expect(out).toContain('@@ line 1 @@\n  name = "shop"\n+ tail_consumers = [{ service = "logship" }]\n\n  [vars]\n');
    expect(out).toMatch(/Nothing was written\.\n$/);
    expect(readFileSync(join(folder, "wrangler.toml"), "utf8")).toBe('name = "shop"\r\n\r\n[vars]\r\nA = 1\r\n');
    expect(readdirSync(folder)).toEqual(["wrangler.toml"]);
  });

  it("keeps the mode of a file, and a link to it", () => {
    const folder = folderOf({ "real/wrangler.json": "{}", "shop/.keep": "" });
    chmodSync(join(folder, "real/wrangler.json"), 0o640);
    symlinkSync("../real/wrangler.json", join(folder, "shop/wrangler.json"));
    expect(run("attach", ["shop"], folder).code).toBe(0);
    expect(lstatSync(join(folder, "shop/wrangler.json")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, "real/wrangler.json"), "utf8")).toContain("tail_consumers");
    expect(statSync(join(folder, "real/wrangler.json")).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(folder, "real"))).toEqual(["wrangler.json"]);
  });

  it("takes another name of the shipper, an environment, and the top level alone", () => {
    const folder = folderOf({ "wrangler.jsonc": SHOP });
    expect(run("attach", ["--env", "", "--service", "logship-eu", "."], folder).out).toContain('consumer "logship-eu"');
    expect(run("attach", ["--env", "playground", "."], folder).out).toContain('environment "playground": attached');
    const text = readFileSync(join(folder, "wrangler.jsonc"), "utf8");
    expect(text).toContain('"playground": { "logship": false, "tail_consumers": [{ "service": "logship" }] }');
    expect(text).toContain('"production": {},');
    expect(text).toContain('  "tail_consumers": [{ "service": "logship-eu" }]\n}');
  });

  it("attaches previews alone, and says how they are deployed", () => {
    const folder = folderOf({ "wrangler.jsonc": '{ "name": "shop", "previews": {}, "env": { "live": {} } }' });
    expect(run("attach", [".", "--env", "", "--previews"], folder).out).toBe(`wrangler.jsonc, consumer "logship"
  the previews of the top level: attached

This takes effect with the next deployment:
  npx wrangler preview --config wrangler.jsonc
`);
    expect(run("attach", ["."], folder).out).toContain("  the previews of the top level: were attached already\n");
    expect(run("attach", [".", "--env", "live", "--previews"], folder).err).toBe(
      'wrangler.jsonc: environment "live" has no "previews"\n',
    );
  });

  it("says when wrangler takes another file", () => {
    const folder = folderOf({ "wrangler.toml": "", "wrangler.jsonc": "{}" });
    expect(run("attach", ["wrangler.toml"], folder).out).toContain(
      "but wrangler uses wrangler.jsonc instead, unless --config names this file",
    );
  });

  it("says that a build is in between", () => {
    const folder = folderOf({ "wrangler.jsonc": '{"name": "shop"}', ".wrangler/deploy/config.json": "{}" });
    expect(run("attach", ["."], folder).out).toContain("Build again");
  });

  it.each([
    [
      ["wrangler.jsonc", "--env", "live"],
      1,
      'wrangler.jsonc: there is no environment "live"; the file has "production", "playground"',
    ],
    [["nothing.toml"], 1, "nothing.toml: cannot be read: there is no such file"],
    [["empty"], 1, "empty: there is no wrangler.json, wrangler.jsonc or wrangler.toml in it"],
    [["shpo"], 1, "shpo: cannot be read: there is no such file"],
    [["package.json"], 1, "package.json: not a project file, but a package's"],
    [["broken.toml"], 1, "broken.toml: 2:5: not TOML"],
    [["latin.json"], 1, "latin.json: not UTF-8"],
    [["large.json"], 1, "large.json: larger than 1,000,000 bytes"],
    [["built.json"], 1, "built.json: generated by a build, and overwritten by the next build: edit ../wrangler.jsonc"],
    [["esc\u001b.json"], 1, "esc\\u{1b}.json: cannot be read"],
    [[join(ROOT, "wrangler.jsonc")], 1, "logship's own project file"],
    [[join(ROOT, "wrangler.jsonc"), "--service", "logship-eu"], 1, "logship's own project file"],
    [[], 2, "usage: npm run attach"],
    [["a", "b"], 2, "usage: npm run attach"],
    [["--wrong"], 2, "usage: npm run attach"],
    [["--service", "Not A Name", "."], 2, "usage: npm run attach"],
  ])("refuses %j with %i", (args, code, message) => {
    const folder = folderOf({
      "wrangler.jsonc": SHOP,
      "package.json": "{}",
      "empty/readme.md": "",
      "broken.toml": "a = 1\nb = \n",
      "large.json": `{${" ".repeat(1_000_000)}}`,
      "built.json": '{"configPath": "/x/wrangler.jsonc", "userConfigPath": "../wrangler.jsonc", "name": "shop"}',
    });
    writeFileSync(join(folder, "latin.json"), Buffer.from('{"name": "caf\xe9"}', "latin1"));
    const result = run("attach", args, folder);
    expect(result.err).toContain(message);
    expect(result.out).toBe("");
    expect(result.code).toBe(code);
    expect(readFileSync(join(folder, "wrangler.jsonc"), "utf8")).toBe(SHOP);
  });
});

/** A folder of projects of every kind, most of which can be attached. */
const MONOREPO = {
  "shop/wrangler.jsonc": SHOP,
  "apps/mail/wrangler.toml": 'name = "mail"\n',
  "apps/web/wrangler.json": '{"name": "web", "tail_consumers": [{"service": "logship"}]}',
  "apps/quiet/wrangler.jsonc": '{"name": "quiet", "logpush": false}',
  "apps/pages/wrangler.toml": 'name = "pages"\npages_build_output_dir = "dist"\n',
  "apps/web/node_modules/x/wrangler.toml": 'name = "x"\n',
  "apps/built/wrangler.jsonc": '{"name": "built"}',
  "apps/built/.wrangler/deploy/config.json": "{}",
  "apps/built/dist/wrangler.json": '{"name": "built", "configPath": "../wrangler.jsonc"}',
  "\u001b[31mred/wrangler.toml": 'name = "red"\n',
};

describe("npm run attach -- --all", () => {
  const read = (folder: string, path: string) => readFileSync(join(folder, path), "utf8");

  it("shows one diff, asks for no terminal's answer, and writes all with --yes; a second time there is nothing to do", () => {
    const folder = folderOf(MONOREPO);
    symlinkSync(folder, join(folder, "apps/loop"));
    const asked = run("attach", ["--all", "."], folder);
    expect(asked.code).toBe(1);
    expect(asked.out).toContain(
      "4 files would be changed. Nothing was written: there is no terminal to ask; --yes writes without asking.",
    );
    expect(asked.out).toContain('+ tail_consumers = [{ service = "logship" }]');
    expect(read(folder, "apps/mail/wrangler.toml")).toBe('name = "mail"\n');
    const dry = run("attach", ["--all", ".", "--dry-run", "--yes"], folder);
    expect([dry.code, dry.out.includes("4 files would be changed. Nothing was written.")]).toEqual([0, true]);
    const { code, out } = run("attach", ["--all", ".", "--yes"], folder);
    expect(code).toBe(0);
    expect(out).toContain("left alone: apps/pages/wrangler.toml: a Pages project");
    expect(out).toContain("left alone: apps/quiet/wrangler.jsonc: logging is off everywhere in this file");
    expect(out).toMatch(/This takes effect with the next deployment:\n( {2}npx wrangler deploy --config .*\n){4}/);
    expect(out).toMatch(/A build generates what is deployed from apps\/built\. .*\n {2}npx wrangler deploy\n/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would obey it.
    expect(out).not.toMatch(/\u001b/);
    expect(out).not.toContain("node_modules");
    for (const path of ["shop/wrangler.jsonc", "apps/mail/wrangler.toml", "apps/built/wrangler.jsonc"])
      expect(read(folder, path)).toContain("tail_consumers");
    expect(read(folder, "apps/pages/wrangler.toml")).toBe(MONOREPO["apps/pages/wrangler.toml"]);
    expect(run("attach", ["--all", "."], folder)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/Nothing to do\.\n$/),
    });
    const detached = run("attach", ["--all", ".", "--detach", "--yes"], folder);
    expect(detached.code).toBe(0);
    expect(read(folder, "shop/wrangler.jsonc")).toBe(SHOP);
    expect(read(folder, "apps/web/wrangler.json")).toBe('{"name": "web"}');
  });

  it("attaches what it can beside what it cannot read or write, and leaves with 1", () => {
    const folder = folderOf({
      "a/wrangler.jsonc": '{"name": "a"}',
      "b/wrangler.toml": "name = ",
      "c/wrangler.toml": 'name = "c"\n',
    });
    const { code, out } = run("attach", ["--all", ".", "--yes"], folder);
    expect(code).toBe(1);
    expect(out).toMatch(/left alone: b\/wrangler\.toml: /);
    expect(read(folder, "a/wrangler.jsonc")).toContain("tail_consumers");
    expect(read(folder, "c/wrangler.toml")).toContain("tail_consumers");
    expect(readdirSync(join(folder, "a"))).toEqual(["wrangler.jsonc"]);
  });

  it("leaves the shipper alone", () => {
    const { code, out } = run("attach", ["--all", ".", "--dry-run"], join(ROOT, "docs"));
    expect([code, out]).toEqual([1, expect.stringContaining("it has no wrangler.json")]);
    const own = run("attach", ["--all", "tools", "--dry-run"], ROOT);
    expect(own.out).not.toMatch(/^wrangler\.jsonc/m);
  });

  it.each([
    [["--all", ".", "--env", "a"]],
    [["--all", ".", "--previews"]],
    [["--all"]],
    [[".", "--yes"]],
    [[".", "--local", "--dry-run"]],
    [["--all", ".", "--local"]],
  ])("refuses %j", (args) => {
    expect(run("attach", args, folderOf({ "wrangler.toml": "" })).code).toBe(2);
  });

  const asking = async (folder: string, answer: () => boolean) => {
    const said: string[] = [];
    const code = await attachAll({
      ...{ folder, from: folder, shipper: SHIPPER_CONFIG, mode: "ask", say: (line) => said.push(line) },
      wish: { service: "logship", place: undefined, detach: false },
      ask: async (question) => {
        said.push(question);
        return answer();
      },
    });
    return { code, said: said.join("\n") };
  };

  it.each([true, false])("asks, and after the answer %s it has written or not", async (answer) => {
    const folder = folderOf({ "wrangler.toml": 'name = "a"\n' });
    const { code, said } = await asking(folder, () => answer);
    expect(said).toContain("\nWrite 1 file? [y/N] ");
    expect([code, read(folder, "wrangler.toml").includes("tail_consumers")]).toEqual([answer ? 0 : 1, answer]);
  });

  it("says which file was changed meanwhile, and writes the others", async () => {
    const folder = folderOf({ "a/wrangler.toml": 'name = "a"\n', "b/wrangler.toml": 'name = "b"\n' });
    const { code, said } = await asking(folder, () => {
      writeFileSync(join(folder, "a/wrangler.toml"), 'name = "other"\n');
      return true;
    });
    expect(code).toBe(1);
    expect(said).toContain("a/wrangler.toml: it was changed in the meantime; nothing was written");
    expect(read(folder, "a/wrangler.toml")).toBe('name = "other"\n');
    expect(read(folder, "b/wrangler.toml")).toContain("tail_consumers");
  });
});

describe("npm run doctor", () => {
  it("leaves with 0 when all that should be attached is", () => {
    const folder = folderOf({
      "shop/wrangler.jsonc": '{"name": "shop", "tail_consumers": [{"service": "logship"}]}',
      "tools/wrangler.toml": 'name = "tools"\n',
    });
    expect(run("doctor", ["shop", "tools/wrangler.toml", "."], folder)).toEqual({
      code: 0,
      err: "",
      out: `shop/wrangler.jsonc
  top level  shop  attached

tools/wrangler.toml
  top level  tools  not meant to: nothing says that its events should ship

2 project files, 2 deployments: 1 attached, 0 would stay silent, 1 not meant to.
`,
    });
  });

  it("leaves with 1 when something would stay silent, and what it says to run helps", () => {
    const folder = folderOf({ "shop/wrangler.jsonc": SHOP });
    mkdirSync(join(folder, "else"));
    const { code, out } = run("doctor", ["../shop"], join(folder, "else"));
    expect(code).toBe(1);
    const commands = [...out.matchAll(/run: npm --prefix \S+ run attach -- (\S+) --env (\S+)$/gm)];
    expect(commands.map(([, path, env]) => [path, env])).toEqual([
      ["../shop/wrangler.jsonc", '""'],
      ["../shop/wrangler.jsonc", "production"],
    ]);
    for (const [, path = "", env = ""] of commands)
      run("attach", [path, "--env", env.replace('""', "")], join(folder, "else"));
    expect(run("doctor", ["../shop"], join(folder, "else")).code).toBe(0);
  });

  it("leaves with 1 when a path is none, and checks the others", () => {
    const folder = folderOf({ "wrangler.json": "{}" });
    const { code, out } = run("doctor", ["nowhere", "."], folder);
    expect(code).toBe(1);
    expect(out).toContain("nowhere\n  cannot be checked: there is no such file");
    expect(out).toContain("wrangler.json\n  top level");
    expect(out).toMatch(/1 path could not be checked\.\n$/);
  });

  it("asks about a deployment of another name", () => {
    const folder = folderOf({ "wrangler.json": '{"tail_consumers": [{"service": "logship-eu"}]}' });
    expect(run("doctor", ["."], folder).code).toBe(1);
    expect(run("doctor", ["--service", "logship-eu", "."], folder).code).toBe(0);
    expect(run("doctor", ["--service", "logship-us", "."], folder).out).toContain("--service logship-us\n");
  });

  it("names a command that npm finds from where the user is, and project files that it has not checked", () => {
    const folder = folderOf({
      "shop/wrangler.json": '{"logpush": true}',
      "shop/package.json": "{}",
      "shop/wrangler.staging.toml": "",
    });
    const within = run("doctor", [folder], join(ROOT, "docs")).out;
    expect(within).toMatch(/run: npm run attach -- \S+\/shop\/wrangler\.json --env ""\n/);
    const beside = run("doctor", ["."], join(folder, "shop")).out;
    const [, prefix = ""] = /run: npm --prefix (\S+) run attach -- wrangler\.json --env ""\n/.exec(beside) ?? [];
    expect(resolve(folder, "shop", prefix)).toBe(ROOT);
    expect(beside).toContain(
      "not checked, as wrangler uses them only with --config: wrangler.staging.toml; to check one",
    );
  });

  it.each([[[]], [["--wrong", "."]], [["--service", "A B", "."]]])("leaves %j with 2", (args) => {
    const { code, err, out } = run("doctor", args, ROOT);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("usage: npm run doctor");
  });

  it("finds nothing wrong with the shipper and its sample", () => {
    expect(run("doctor", ["wrangler.jsonc", "tools/demo"], ROOT).code).toBe(0);
  });
});
