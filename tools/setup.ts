/**
 * `npm run setup`: from an empty account to a record read back. Run it again at any time: it
 * changes only what is missing. See docs/deploy.md.
 */
import { readFileSync } from "node:fs";
import { command, UsageFault } from "./command.ts";
import { askedAccount, COMMON_OPTIONS, COMMON_USAGE, isOwnUrl, outside, run } from "./setup/command.ts";
import { SetupRefused } from "./setup/refusals.ts";
import { runCheck, runSetup } from "./setup/run.ts";

const USAGE = `usage: npm run setup -- [options]

Deploys logship into your account with its queues, its bucket and a first job. Run it again at any
time: it does only what is missing.

  --dry-run           says what would be done, call by call, and changes nothing
  --check             says how the deployment differs from the project file; then the exit code is 1
  --destination <to>  where the first job ships to, instead of the Worker's own bucket; - reads it from
                      standard input, as others can read command lines
  --new-token         replaces ADMIN_TOKEN, which ends the admin's sessions
  --url <address>     the Worker's address, if it is not the one at workers.dev
${COMMON_USAGE}`;

const OPTIONS = {
  ...COMMON_OPTIONS,
  "dry-run": { type: "boolean", default: false },
  check: { type: "boolean", default: false },
  destination: { type: "string" },
  "new-token": { type: "boolean", default: false },
  url: { type: "string" },
} as const;

/** A destination that surely holds no secret. */
const WITHOUT_SECRET = /^binding:\/\/[^?]*$|^\w+:\/\/[^?@]*\?([^&]*&)*credentials=env:/;

await command(USAGE, OPTIONS, ({ values, positionals }) => {
  const { url, config, "dry-run": isDry } = values;
  const account = askedAccount(values.account, positionals);
  if (url !== undefined && !isOwnUrl(url)) throw new UsageFault("--url: https://<host>, without a path");
  return run(async () => {
    const destination = destinationOf(values.destination);
    const all = await outside(config, !isDry);
    if (values.check) return (await runCheck(all, account)) ? 0 : 1;
    await runSetup(all, { account, url: url ?? null, destination, newToken: values["new-token"], isDry });
    return 0;
  });
});

/** @throws SetupRefused for a secret on the command line. */
function destinationOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  if (given === "-") return readFileSync(0, "utf8").trim();
  if (!WITHOUT_SECRET.test(given)) throw new SetupRefused({ kind: "secret_in_arguments" });
  return given;
}
