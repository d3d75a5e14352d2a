import * as z from "zod";
import { utf8Length } from "../../base/bytes.ts";
import { SCRIPT_NAME_MAX } from "../../ship/log/function-counts.ts";
import { ONE_NAME } from "../functions/tail-consumers.ts";

/**
 * Most JSON of one function's `tail_consumers`, in bytes: a list of all functions must fit one
 * call, 32 MiB.
 */
const TAIL_CONSUMERS_MAX_BYTES = 16_384;

/** Most JSON of each setting that is kept for the vendor's clients, in bytes. */
const KEPT_MAX_BYTES = 4_096;

const isKeepable = (value: unknown): boolean => utf8Length(JSON.stringify(value)) <= KEPT_MAX_BYTES;
const NOT_KEEPABLE = `must be at most ${KEPT_MAX_BYTES} bytes of JSON`;

const Name = z.string().min(1).max(255);

export const TailConsumer = z.strictObject({
  service: Name.describe("Name of the Worker that the trace events go to."),
  environment: Name.optional(),
  namespace: Name.optional(),
});
/** A service that the platform sends a function's trace events to. */
export type TailConsumer = z.infer<typeof TailConsumer>;

const logging = z
  .boolean()
  .nullish()
  .describe("Whether the function's events ship: `true`, `false`, or null for unset, which ships, too.");

/** The body of `PATCH …/script-settings`: only what it names changes. */
export const ScriptSettings = z
  .strictObject({
    logship: logging,
    logpush: logging.describe("The vendor's name of `logship`; one of them may be sent."),
    tail_consumers: z
      .array(TailConsumer)
      .max(100)
      .refine((value) => utf8Length(JSON.stringify(value)) <= TAIL_CONSUMERS_MAX_BYTES, {
        error: `must be at most ${TAIL_CONSUMERS_MAX_BYTES} bytes of JSON`,
      })
      .nullish()
      .describe(`Kept and echoed: at most ${TAIL_CONSUMERS_MAX_BYTES} bytes of JSON.`),
    tags: z
      .array(z.string().max(1_024))
      .max(64)
      .refine(isKeepable, NOT_KEEPABLE)
      .nullish()
      .describe(
        `Cloudflare's: kept and echoed, without effect on what ships; at most ${KEPT_MAX_BYTES} bytes of JSON.`,
      ),
    observability: z
      .looseObject({})
      .refine(isKeepable, NOT_KEEPABLE)
      .nullish()
      .describe(
        `Cloudflare's own logs of the function: kept and echoed, without effect on what ships; at most ${KEPT_MAX_BYTES} bytes of JSON.`,
      ),
  })
  .refine(...ONE_NAME)
  .meta({
    id: "ScriptSettings",
    description: "Only what is named changes.",
    not: { required: ["logship", "logpush"] },
  });
export type ScriptSettings = z.infer<typeof ScriptSettings>;

/** Settings of a function for the platform alone, as sent; keys never sent are absent. */
export type KeptSettings = Pick<ScriptSettings, "tags" | "observability">;

/** Those among more. */
export function keptOf({ tags, observability }: KeptSettings): KeptSettings {
  return { ...(tags !== undefined && { tags }), ...(observability !== undefined && { observability }) };
}

/**
 * Whether it can be the name of a function in a path: 1 to 255 UTF-16 code units, no `/`, no
 * control characters.
 */
export function isScriptName(name: string): boolean {
  return name.length >= 1 && name.length <= SCRIPT_NAME_MAX && !/[/\p{Cc}]/u.test(name);
}
