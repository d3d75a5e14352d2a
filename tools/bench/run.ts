/**
 * `npm run bench`: what the shipper costs, in CPU time, money and memory. Not part of the tests:
 * nothing here passes or fails. `--help` lists its options.
 */
import "../../test/schedule/hooks.ts";

// A signal alone would leave the processes behind; the exit handlers end them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

interface Main {
  main(args: string[]): Promise<void>;
}

// What these load imports src, which the first line makes loadable; their types are of two worlds.
const args = process.argv.slice(2);
const main = args.includes("--peers") ? "./peers/main.ts" : "./main.ts";
await ((await import(new URL(main, import.meta.url).href)) as Main).main(args);
