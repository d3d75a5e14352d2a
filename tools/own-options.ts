/** The options of a tool that npm starts. */
import { type ParseArgsConfig, parseArgs } from "node:util";

/** Settings of npm's own, which people keep for all projects. */
const OF_NPM: ReadonlySet<string> = new Set(["yes", "json", "help"]);

/**
 * An option that npm took for itself, because `--` was forgotten: `npm run setup --dry-run` starts
 * the tool without it, and only tells it by a variable.
 * @see https://docs.npmjs.com/cli/using-npm/config#environment-variables
 * @returns what to say; null: none was.
 */
export function takenByNpm(names: readonly string[], env: NodeJS.ProcessEnv): string | null {
  const taken = names.find((name) => !OF_NPM.has(name) && env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined);
  const script = env.npm_lifecycle_event;
  if (taken === undefined || script === undefined) return null;
  return `npm took --${taken} for itself, and nothing was done: write npm run ${script} -- --${taken}`;
}

/** `parseArgs`. @throws Error with what to say: an unknown option, or one that npm took. */
export function ownOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  const taken = takenByNpm(Object.keys(config.options ?? {}), process.env);
  if (taken !== null) throw new Error(taken);
  return parseArgs(config);
}
