/**
 * `npm run attach -- <project> --local`: a Worker of one's own beside the running `npm start`,
 * attached to it without a change of its project file. It is built first: from source `wrangler
 * dev` swallows exceptions. A relay is its tail consumer, as the local runtime names no Worker.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { DEFAULT_PORT, REGISTRY, ROOT, shown, WRANGLER } from "../paths.ts";
import { isBuilt, readProjectFile } from "../project-files/files.ts";
import { jsonc } from "../project-files/jsonc.ts";
import { CONSUMERS, isObject, type Json, own, type Place, ProjectFault, placeName } from "../project-files/model.ts";
import { isService, readSections, type Section } from "../project-files/sections.ts";
import { pause } from "../until.ts";
import { startDevServer, wranglerEnv } from "./dev-server.ts";
import { watchEdits } from "./edits.ts";
import { type Foreground, portWords, runInForeground } from "./foreground.ts";
import { running } from "./running.ts";
import { SupervisedProcess } from "./supervised.ts";

/** Not below `.wrangler`: of a build in there wrangler sees no change. */
const STATES = join(ROOT, "dist/attached");
const RELAY = join(ROOT, "tools/local/relay/index.js");

/** Above those of `npm start`. */
const FIRST_PORT = DEFAULT_PORT + 2;

/** https://developers.cloudflare.com/workers/platform/limits/ */
const NAME_MAX = 63;

/** How long edits are gathered before a build, in ms. */
const EDITS_MS = 200;

/** Settings and secrets beside a project file, which wrangler reads there. */
const ENV_FILES = [".dev.vars", ".env", ".env.local"];

export interface LocalAttachment {
  /** Path of the project file. */
  readonly path: string;
  readonly place: Place;
  /** Logship's name. */
  readonly service: string;
}

/** @returns the exit code. @throws ProjectFault if it cannot be run, or no shipper runs. */
export async function attachLocally({ path, place, service }: LocalAttachment): Promise<number> {
  const registry = process.env.WRANGLER_REGISTRY_PATH || REGISTRY;
  const { config, value, env } = whatRuns(path, place);
  const section = readSections(value).find((each) => each.place === env);
  if (section === undefined) throw new ProjectFault(`there is no ${placeName(env)}`);
  const { scriptName } = section;
  if (scriptName === null) throw new ProjectFault("it has no name, under which its records would be seen");
  if (scriptName === service) throw new ProjectFault("this is logship itself: npm start runs it");
  if (!(await runs(service, registry)))
    throw new ProjectFault(`"${service}" does not run on this machine: run npm start first, in another terminal`);
  return runInForeground({
    name: `The Worker ${scriptName}`,
    states: STATES,
    start: (foreground) =>
      start({ folder: dirname(path), config, value, section, scriptName, service, registry }, foreground),
    work: async () => 0,
    stay: ({ building }) => building,
  });
}

/**
 * The project file, or the one that a framework's build has written from it, for one environment.
 */
function whatRuns(path: string, place: Place): { config: string; value: Json; env: Place } {
  const { text, language } = readProjectFile(path);
  const pointer = join(dirname(path), ".wrangler/deploy/config.json");
  if (!isBuilt(path)) return { config: path, value: language.parse(text.replace(/^\uFEFF/, "")), env: place };
  try {
    const { configPath } = JSON.parse(readFileSync(pointer, "utf8")) as { configPath: string };
    const config = resolve(dirname(pointer), configPath);
    return { config, value: jsonc.parse(readFileSync(config, "utf8")), env: null };
  } catch {
    throw new ProjectFault("a build generates what runs, and it is not there: build it first");
  }
}

interface Attached {
  /** That of the project. */
  readonly folder: string;
  /** The project file that is built, and its content. */
  readonly config: string;
  readonly value: Json;
  readonly section: Section;
  readonly scriptName: string;
  readonly service: string;
  readonly registry: string;
}

/** Builds it, runs it, and builds it again after each edit. @returns does not settle. */
async function start(attached: Attached, foreground: Foreground): Promise<{ building: Promise<never> }> {
  const { folder, section, scriptName, registry } = attached;
  const { state, signal, say, keep } = foreground;
  say(`Building ${scriptName} …`);
  await build(attached, state, signal);
  const configs = writeConfigs(attached, state);
  for (const name of [...ENV_FILES, ...(section.place === null ? [] : [`.dev.vars.${section.place}`])])
    if (existsSync(join(folder, name))) symlinkSync(join(folder, name), join(state, name));
  let isReady = false;
  // What the project's own `wrangler dev` has stored is used.
  const data = join(folder, ".wrangler/state");
  const server = await startDevServer({
    ...configs,
    ...(section.place !== null && { env: section.place }),
    port: FIRST_PORT,
    persistTo: existsSync(data) ? data : join(state, "data"),
    registry,
    logFile: join(state, "worker.log"),
    onOutput: (text) => isReady && process.stdout.write(text),
    signal,
  });
  keep(scriptName, server);
  say(`${scriptName} answers on ${portWords(server, FIRST_PORT)}, and its events go to ${attached.service}.`);
  const url = running()?.url ?? null;
  console.log(
    [
      ...["", `  Worker   ${server.url}/`],
      ...(url === null ? [] : [`  Records  ${url}/functions/${encodeURIComponent(scriptName)}`]),
      ...["", "An edit builds it again. Press Ctrl-C to stop.", ""],
    ].join("\n"),
  );
  isReady = true;
  return { building: buildAfterEdits(attached, foreground) };
}

/**
 * Bundles it with its project's own wrangler, if it has one.
 * @throws Error with wrangler's output.
 */
async function build({ folder, config, section }: Attached, state: string, signal: AbortSignal): Promise<void> {
  const hadState = existsSync(join(folder, ".wrangler"));
  const dist = join(state, "dist");
  mkdirSync(dist, { recursive: true });
  const building = new SupervisedProcess({
    argv: [
      ...[process.execPath, wranglerOf(folder), "deploy", "--dry-run", "--outdir", dist, "--config", config],
      ...(section.place === null ? [] : ["--env", section.place]),
    ],
    cwd: folder,
    env: wranglerEnv(),
  });
  try {
    await building.done(`building ${shown(config)}`, signal);
  } finally {
    if (!hadState) for (const left of ["tmp", ""]) removeEmpty(join(folder, ".wrangler", left));
  }
}

function wranglerOf(folder: string): string {
  const own = join(folder, "node_modules/wrangler/bin/wrangler.js");
  if (existsSync(own)) return own;
  return dirname(folder) === folder ? WRANGLER : wranglerOf(dirname(folder));
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It holds something, or is gone.
  }
}

/** Project files of what was built, with the relay as its consumer, and of the relay. */
function writeConfigs(attached: Attached, state: string): { config: string; also: string[] } {
  const { config: source, value, section, scriptName, service } = attached;
  const relay = `${service}-for-${scriptName}`.slice(0, NAME_MAX);
  const { build: _, $schema: __, ...rest } = runnable(value, dirname(source));
  const consumers = [...section.consumers.filter((consumer) => !isService(consumer, service)), { service: relay }];
  const built = { main: builtMain(value, section, state), no_bundle: true };
  const isNamed = section.place !== null;
  const environment = isNamed && { ...runnable(section.raw, dirname(source)), ...built, [CONSUMERS]: consumers };
  const project = {
    ...{ ...rest, ...built, dev: { enable_containers: false } },
    ...(isNamed ? { env: { [section.place]: environment } } : { [CONSUMERS]: consumers, env: undefined }),
  };
  const settings = {
    name: relay,
    vars: { WORKER: scriptName },
    services: [{ binding: "SHIPPER", service, entrypoint: "LocalFunctions" }],
  };
  const relayProject = {
    ...{ ...settings, main: RELAY, no_bundle: true, compatibility_date: "2026-09-01" },
    ...(isNamed && { env: { [section.place]: settings } }),
  };
  const [config, other] = [join(state, "wrangler.json"), join(state, "relay/wrangler.json")];
  mkdirSync(dirname(other));
  writeFileSync(config, JSON.stringify(project));
  writeFileSync(other, JSON.stringify(relayProject));
  return { config, also: [other] };
}

/** With absolute paths, as it is read in another folder. */
function runnable(value: Json, folder: string): Json {
  const changed = { ...value };
  for (const [key, path] of [
    ["assets", "directory"],
    ["site", "bucket"],
  ] as const) {
    const setting = own(value, key);
    if (isObject(setting) && typeof setting[path] === "string")
      changed[key] = { ...setting, [path]: resolve(folder, setting[path]) };
  }
  return changed;
}

/** @throws ProjectFault if nothing was built: a Worker of assets alone has no events. */
function builtMain(value: Json, { raw }: Section, state: string): string {
  const main = own(raw, "main") ?? own(value, "main");
  if (typeof main !== "string")
    throw new ProjectFault('it has no "main": a Worker of static assets alone has no events');
  const names = [basename(main), basename(main).replace(/\.\w+$/, ".js")];
  const found = names.map((name) => join("dist", name)).find((name) => existsSync(join(state, name)));
  if (found === undefined) throw new ProjectFault(`the build of ${basename(main)} wrote no ${names[1]}`);
  return found;
}

/** Never settles: after a build that failed, the one before runs on. */
async function buildAfterEdits(attached: Attached, { state, signal, say }: Foreground): Promise<never> {
  const { config, value, scriptName } = attached;
  // What a build of the project's own writes is no edit.
  const writes = isObject(own(value, "build"));
  let [isBuilding, isEdited] = [false, Promise.withResolvers<void>()];
  watchEdits(dirname(config), {
    signal,
    onEdit: () => !(isBuilding && writes) && isEdited.resolve(),
    onFault: (folder, why) => say(`edits in ${shown(folder)} are not seen: ${why}`),
  });
  for (;;) {
    await isEdited.promise;
    await pause(EDITS_MS);
    isEdited = Promise.withResolvers();
    isBuilding = true;
    try {
      await build(attached, state, signal);
      say(`${scriptName} was built again.`);
    } catch (error) {
      if (!signal.aborted) say(error instanceof Error ? error.message : String(error));
    }
    await pause(EDITS_MS);
    isBuilding = false;
  }
}

/** Whether a Worker runs: an entry in the registry may be one that was left by a crash. */
async function runs(name: string, registry: string): Promise<boolean> {
  let address: unknown;
  try {
    address = (JSON.parse(readFileSync(join(registry, name), "utf8")) as Json).debugPortAddress;
  } catch {
    return false;
  }
  const [, host = "", port = ""] = /^(.+):(\d+)$/.exec(String(address)) ?? [];
  if (port === "") return false;
  return new Promise((settle) => {
    const socket = connect(Number(port), host, () => settle(true));
    socket.once("connect", () => socket.end()).once("error", () => settle(false));
  });
}
