/** When so much of what a function is asked fails that it is said. */
export interface FailingRule {
  /** Share of its invocations, above 0, at most 1. */
  share: number;
  /** And so many of them at least. */
  least: number;
}

/** A rule for all functions, and those of some; null: never. */
export interface FailingRules {
  all: FailingRule | null;
  of: ReadonlyMap<string, FailingRule | null>;
}

/** null: it is never said to fail. */
export function ruleOf({ all, of }: FailingRules, name: string): FailingRule | null {
  return of.get(name) ?? (of.has(name) ? null : all);
}

/** Whether that many failures of that many invocations are too many. */
export function fails({ share, least }: FailingRule, { events, failed }: { events: number; failed: number }): boolean {
  return failed >= least && failed / events >= share;
}

export const FAILING_BY_DEFAULT: FailingRules = { all: { share: 0.05, least: 20 }, of: new Map() };

export const FAILING_FAULT =
  'FUNCTION_FAILING: entries separated by commas, each "<percent>%:<number>" or "off", those of one function with "<name>=" before it, or absent';

/** A percentage above 0, and a number from 1 on. */
const RULE = /^(\d{1,3}(?:\.\d{1,3})?)%:([1-9]\d{0,8})$/;

/**
 * Reads `5%:20, checkout=1%:5, batch=off`. The last entry for the same functions counts.
 * @returns null: malformed.
 */
export function readFailingRules(setting: unknown): FailingRules | null {
  if (setting === undefined || setting === "") return FAILING_BY_DEFAULT;
  if (typeof setting !== "string") return null;
  let { all } = FAILING_BY_DEFAULT;
  const of = new Map<string, FailingRule | null>();
  for (const entry of setting.split(",")) {
    const at = entry.lastIndexOf("=");
    const text = entry.slice(at + 1).trim();
    const [, percent, least] = RULE.exec(text) ?? [];
    const share = Number(percent) / 100;
    if (text !== "off" && !(share > 0 && share <= 1)) return null;
    const rule = text === "off" ? null : { share, least: Number(least) };
    if (at === -1) all = rule;
    else of.set(entry.slice(0, at).trim(), rule);
  }
  return { all, of };
}
