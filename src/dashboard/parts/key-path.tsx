import type { FC } from "hono/jsx";
import { withoutOuterSlashes } from "../../destinations/conf.ts";
import { EXAMPLE_FILL, hasParts, keyBelow, objectName, PLACEHOLDERS, readTemplate } from "../../destinations/keys.ts";
import { Foreign } from "./foreign.tsx";

const AT_MS = Date.UTC(2026, 10, 20, 14, 16, 19);

/** An object's key below a path, on one day of one script. */
export function exampleKey(path: string): string {
  return keyBelow(withoutOuterSlashes(path), EXAMPLE_FILL, objectName(AT_MS, AT_MS + 1_000, "d4cf1da2", ".log.gz"));
}

/** What the placeholders of a path mean, for the control in which it is entered. */
export const PathHint: FC<{ path: string }> = ({ path }) => (
  <>
    Filled from the events, in UTC:{" "}
    {PLACEHOLDERS.map((name, i) => (
      <>
        {i > 0 && ", "}
        <code>{name}</code> {EXAMPLE_FILL[name]}
      </>
    ))}
    . Example: <KeyExample path={path} />
    {hasParts(readTemplate(path)) && ". Each value of HOUR and SCRIPT gets objects of its own: many make many requests"}
    .
  </>
);

export const KeyExample: FC<{ path: string }> = ({ path }) => (
  <code>
    <Foreign text={exampleKey(path)} max={1_024} />
  </code>
);
