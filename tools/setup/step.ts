/** A plan of steps as data: each looks whether it is done, and says what there is to do. */

/** One change. */
export interface Action {
  /** What was done, for people: "created the bucket traces". */
  readonly done: string;
  /** The call or command, with no secret in it. */
  readonly call: string;
  readonly run: () => Promise<void>;
}

export interface Step<Context> {
  readonly name: string;
  /** Changes nothing. @returns what is there already, or what is to be done, in order. */
  readonly look: (context: Context) => Promise<string | readonly Action[]>;
}

export interface Run {
  readonly say: (line: string) => void;
  /** Only says what would be done. */
  readonly isDry: boolean;
}

/**
 * Takes all steps. Each looks at what the account has now, so that a run that broke off goes on
 * where it stopped, and one more run changes nothing.
 * @returns the number of changes, made or only named.
 * @throws SetupRefused
 */
export async function takeSteps<Context>(
  steps: readonly Step<Context>[],
  context: Context,
  { say, isDry }: Run,
): Promise<number> {
  let changes = 0;
  for (const { name, look } of steps) {
    const seen = await look(context);
    if (typeof seen === "string") say(`  ${name.padEnd(10)} ${seen}`);
    else
      for (const { done, call, run } of seen) {
        if (!isDry) await run();
        say(`  ${name.padEnd(10)} ${isDry ? `would ${call}` : done}`);
        changes += 1;
      }
  }
  return changes;
}
