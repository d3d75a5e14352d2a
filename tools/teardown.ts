/**
 * `npm run teardown`: takes a deployment out of service, and with `--delete-data` deletes it. See
 * docs/deploy.md.
 */
import { rmSync } from "node:fs";
import { ownOptions } from "./own-options.ts";
import { askedAccount, COMMON_OPTIONS, COMMON_USAGE, outside, run, secretsPath, usage } from "./setup/command.ts";
import { runTeardown } from "./setup/teardown.ts";

const USAGE = `usage: npm run teardown [-- <options>]

  --delete-data       deletes the Worker with all that it stores, the queues, and the bucket with its records
  --dry-run           says what would be done, call by call, and changes nothing
  --yes               does not ask
${COMMON_USAGE}`;

const OPTIONS = {
  ...COMMON_OPTIONS,
  "delete-data": { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
} as const;

function parse() {
  return ownOptions({ options: OPTIONS }).values;
}

async function main(): Promise<number> {
  let values: ReturnType<typeof parse>;
  let account: string | null;
  try {
    values = parse();
    account = askedAccount(values.account);
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error), USAGE);
  }
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  return run(async () => {
    const all = await outside(values.config, !values["dry-run"]);
    const removeSecrets = () => rmSync(secretsPath(all.config), { force: true });
    const options = {
      account,
      deleteData: values["delete-data"],
      isDry: values["dry-run"],
      isConfirmed: values.yes,
    };
    return (await runTeardown({ ...all, removeSecrets }, options)) ? 0 : 1;
  });
}

process.exitCode = await main();
