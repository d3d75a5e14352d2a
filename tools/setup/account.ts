/** Which account a setup is for. */
import * as z from "zod";
import type { Platform } from "./platform.ts";
import { type Account, SetupRefused } from "./refusals.ts";

export interface Choice {
  /** That of the project file; null: none yet. */
  readonly file: string | null;
  /** What the user named; null: none. */
  readonly asked: string | null;
  /** Asks the user; null: there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
}

/** @throws SetupRefused if there is none, or none was chosen. */
export async function chooseAccount(platform: Platform, { file, asked, ask }: Choice): Promise<string> {
  if (file !== null && asked !== null && file !== asked)
    throw new SetupRefused({ kind: "account_differs", file, asked });
  const named = asked ?? file;
  if (named !== null) return named;
  const Accounts = z.array(z.object({ id: z.string(), name: z.string() }));
  const accounts: Account[] = Accounts.parse(await platform.list("/accounts"));
  const [first, ...others] = accounts;
  if (first === undefined) throw new SetupRefused({ kind: "accounts_none" });
  if (others.length === 0) return first.id;
  if (ask === null) throw new SetupRefused({ kind: "accounts_several", accounts });
  const lines = accounts.map(({ id, name }, i) => `  ${i + 1}  ${name} (${id})`);
  const answer = Number(await ask(`Your accounts:\n${lines.join("\n")}\nWhich one? [1-${accounts.length}] `));
  const chosen = Number.isInteger(answer) ? accounts[answer - 1] : undefined;
  if (chosen === undefined) throw new SetupRefused({ kind: "accounts_several", accounts });
  return chosen.id;
}
