import type { FC } from "hono/jsx";
import { encoderKindOf } from "../../../formats/object/encoders.ts";
import {
  exampleFill,
  hasParts,
  keyBelow,
  objectName,
  PLACEHOLDERS,
  readTemplate,
} from "../../../formats/object/keys.ts";
import { NDJSON } from "../../../formats/output/format.ts";
import { withoutOuterSlashes } from "../../../ship/destinations/conf.ts";
import { Foreign } from "./foreign.tsx";

/** The key of an object of now and of one script, below a path. */
function exampleKey(path: string, nowMs: number, suffix: string): string {
  const name = objectName(nowMs, nowMs + 1_000, "d4cf1da2", suffix);
  return keyBelow(withoutOuterSlashes(path), exampleFill(nowMs), name);
}

/** The key of an object below a path, for the control in which it is entered. */
export const PathHint: FC<{ path: string; nowMs: number }> = ({ path, nowMs }) => (
  <>
    Example: <KeyExample path={path} nowMs={nowMs} />
    {hasParts(readTemplate(path)) &&
      ". Each value of HOUR and SCRIPT gets its own objects: many values make many requests"}
  </>
);

/** What may stand in a path, with the values of now. */
export const Placeholders: FC<{ nowMs: number }> = ({ nowMs }) => (
  <details class="further">
    <summary>Placeholders in the path</summary>
    <p class="hint">
      Filled from the events, in UTC:{" "}
      {PLACEHOLDERS.map((name, i) => (
        <>
          {i > 0 && ", "}
          <code>{name}</code> {exampleFill(nowMs)[name]}
        </>
      ))}
      .
    </p>
  </details>
);

/** @param suffix of the kind of its objects. */
export const KeyExample: FC<{ path: string; nowMs: number; suffix?: string }> = ({
  path,
  nowMs,
  suffix = encoderKindOf(NDJSON).suffix,
}) => <Foreign as="code" text={exampleKey(path, nowMs, suffix)} max={1_024} />;
