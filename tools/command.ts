/** What the commands that users type have in common: their options, `--help`, and questions. */
import { createInterface } from "node:readline/promises";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { plain } from "./project-files/text.ts";

/** Settings of npm's own, which people keep for all projects. */
const OF_NPM: ReadonlySet<string> = new Set(["yes", "json", "help"]);

/** Wrong arguments; the message says why. */
export class UsageFault extends Error {}

type Options = NonNullable<ParseArgsConfig["options"]>;
type Given<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>>;

/**
 * Runs a command: its exit code is what `run` returns, or 2 after wrong arguments, an option that
 * npm took among them. `run` throws {@link UsageFault} for those that it finds itself.
 */
export async function command<T extends Options>(
  usage: string,
  options: T,
  run: (given: Given<T>) => number | Promise<number>,
): Promise<void> {
  try {
    refuseTaken(Object.keys(options));
    const given = parse(options);
    if ((given.values as { help?: boolean }).help) console.log(usage);
    else process.exitCode = await run(given);
  } catch (error) {
    if (!(error instanceof UsageFault)) throw error;
    console.error(`${plain(error.message)}\n\n${usage}`);
    process.exitCode = 2;
  }
}

function parse<T extends Options>(options: T): Given<T> {
  try {
    return parseArgs({ options: { ...options, help: { type: "boolean" } }, allowPositionals: true });
  } catch (error) {
    throw new UsageFault(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Refuses an option that npm took for itself, because `--` was forgotten: `npm run setup --dry-run`
 * starts the tool without it, and only tells it by a variable.
 * @see https://docs.npmjs.com/cli/using-npm/config#environment-variables
 */
function refuseTaken(names: readonly string[]): void {
  const { npm_lifecycle_event: script, ...env } = process.env;
  const taken = names.find((name) => !OF_NPM.has(name) && env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined);
  if (taken !== undefined && script !== undefined)
    throw new UsageFault(`npm took --${taken} for itself, and nothing was done: write npm run ${script} -- --${taken}`);
}

/** Whether there is a user to ask. */
export const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;

/** @returns the answer; empty after Ctrl-C or Ctrl-D. */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(question)).trim();
  } catch (error) {
    if ((error as { name?: unknown }).name !== "AbortError") throw error;
    console.log();
    return "";
  } finally {
    terminal.close();
  }
}
