/** What the commands that users type have in common: their options, `--help`, and their end. */
import { createInterface } from "node:readline/promises";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { ProjectFault } from "./project-files/model.ts";
import { plain } from "./project-files/text.ts";

/** Settings of npm's own, which people keep for all projects. */
const OF_NPM: ReadonlySet<string> = new Set(["yes", "json", "help"]);

/** Wrong arguments; the message says why. */
export class UsageFault extends Error {}

/** What the user asked for cannot be done; the message is one sentence that says why. */
export class Refusal extends Error {}

type Options = NonNullable<ParseArgsConfig["options"]>;
type Given<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>>;

/**
 * Runs a command: its exit code is what `run` returns, 2 after wrong arguments, an option that npm
 * took among them, or 1 after a {@link Refusal} or a {@link ProjectFault}. `run` throws
 * {@link UsageFault} for those that it finds itself.
 * @param usage see {@link helpText}. @param args as the user typed them.
 */
export async function command<T extends Options>(
  usage: string,
  options: T,
  run: (given: Given<T>) => number | Promise<number>,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  endWithReader();
  try {
    refuseTaken(Object.keys(options));
    const given = parse(options, args);
    if ((given.values as { help?: boolean }).help) console.log(helpText(usage));
    else process.exitCode = await run(given);
  } catch (error) {
    if (error instanceof Refusal || error instanceof ProjectFault) {
      console.error(plain(error.message));
      process.exitCode = 1;
    } else if (error instanceof UsageFault) {
      console.error(`${plain(error.message)}\n\n${helpText(usage)}`);
      process.exitCode = 2;
    } else throw error;
  }
}

/**
 * The arguments of a script that has no {@link command} around it: ends it after `--help` with
 * exit code 0, and after wrong ones with 2.
 * @param words whether it takes more than options.
 */
export function argumentsOf<T extends Options>(usage: string, options: T, words: boolean): Given<T> {
  try {
    refuseTaken(Object.keys(options));
    const given = parse(options, process.argv.slice(2));
    if (!words) onlyOptions(given.positionals);
    if (!(given.values as { help?: boolean }).help) return given;
    console.log(helpText(usage));
    return process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageFault)) throw error;
    console.error(`${plain(error.message)}\n\n${helpText(usage)}`);
    return process.exit(2);
  }
}

function parse<T extends Options>(options: T, args: readonly string[]): Given<T> {
  try {
    const all = { ...options, help: { type: "boolean" } } as const;
    return parseArgs({ args: [...args], options: all, allowPositionals: true });
  } catch (error) {
    // Some of its messages have several lines.
    throw new UsageFault((error instanceof Error ? error.message : String(error)).replaceAll("\n", " "));
  }
}

/** Throws for anything but options. */
export function onlyOptions([unknown]: readonly string[]): void {
  if (unknown !== undefined) throw new UsageFault(`unexpected argument: ${unknown}`);
}

/** A line of an option: its name, with its value, and what it does. */
const OPTION = /^ *(--\S+(?: <[^>]*>| [a-z]+(?=$| {2}))?)(?: {2,}(.*))?$/;

/**
 * A usage text as all commands show it: options stand in one column and what they do in another, as
 * do lines that go on there, which begin with four spaces or more. `--help` is the last option.
 */
export function helpText(usage: string): string {
  const lines = usage.split("\n");
  const first = lines.findIndex((line) => OPTION.test(line));
  const isOfOption = (line: string, i: number): boolean => first !== -1 && i >= first && /^ *--|^ {4}/.test(line);
  const all = first === -1 ? [...lines, ""] : lines;
  const end = first === -1 ? all.length : lines.findLastIndex(isOfOption) + 1;
  const parts = all.toSpliced(end, 0, "  --help  shows this text").map((line, i) => ({
    line,
    option: OPTION.exec(line),
    isMore: isOfOption(line, i),
  }));
  const column = 4 + Math.max(...parts.map(({ option }) => option?.[1]?.length ?? 0));
  return parts
    .map(({ line, option, isMore }) => {
      if (option !== null) return `${`  ${option[1]}`.padEnd(column)}${option[2] ?? ""}`.trimEnd();
      return isMore ? `${" ".repeat(column)}${line.trim()}` : line;
    })
    .join("\n");
}

/**
 * Ends without a word when the reader of the output has gone (`| head`). A command that has
 * something to clean up listens for SIGPIPE, and ends by itself.
 */
function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      if (!process.emit("SIGPIPE", "SIGPIPE")) process.exit(0);
    });
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
