import { TEXT_MAX_CHARACTERS } from "../../src/base/limits.ts";
import { noise } from "../formats/record/samples.ts";
import type { Minted } from "../support/oracle.ts";
import type { World } from "../support/runtime/world.ts";

/**
 * An event with text that hardly compresses, too large for any message.
 * @param length of the text in characters, before truncation.
 */
export function largeEvent(world: World, length = 600_000): Minted {
  const [event] = world.mint(1, { padding: length }) as [Minted];
  // JSON escapes a quote, which would change the size.
  const text = noise(length, Number(event.id.slice(-6))).replaceAll('"', "'");
  const kept = text.slice(0, TEXT_MAX_CHARACTERS - event.id.length);
  const rewrite = ({ Logs }: Record<string, unknown>, message: string): void => {
    for (const log of Logs as { Message: string[] }[]) log.Message = [event.id, message];
  };
  rewrite(event.event, text);
  rewrite(event.record, `${kept}<<<Logship: messages truncated>>>`);
  return event;
}

/** Events that hardly compress: ten are far larger than what a store reads before it refuses. */
export function dense(events: readonly Minted[]): Minted[] {
  return events.map((minted, i) => {
    const tags = { ScriptTags: [noise(30_000, i + 1)] };
    return { ...minted, event: { ...minted.event, ...tags }, record: { ...minted.record, ...tags } };
  });
}
