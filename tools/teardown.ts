/**
 * `npm run teardown`: takes a deployment out of service, and with `--delete-data` deletes it. See
 * docs/deploy.md.
 */
import { rmSync } from "node:fs";
import { command } from "./command.ts";
import { askedAccount, COMMON_OPTIONS, COMMON_USAGE, outside, run, secretsPath } from "./setup/command.ts";
import { runTeardown } from "./setup/teardown.ts";

const USAGE = `usage: npm run teardown -- [options]

Takes logship out of service. Without --delete-data, everything that is stored stays.

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

await command(USAGE, OPTIONS, ({ values, positionals }) => {
  const account = askedAccount(values.account, positionals);
  return run(async () => {
    const all = await outside(values.config, !values["dry-run"]);
    const removeSecrets = () => rmSync(secretsPath(all.config), { force: true });
    const { "delete-data": deleteData, "dry-run": isDry, yes: isConfirmed } = values;
    return (await runTeardown({ ...all, removeSecrets }, { account, deleteData, isDry, isConfirmed })) ? 0 : 1;
  });
});
