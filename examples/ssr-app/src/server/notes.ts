import { TEAS } from "../shop/teas.ts";

/** Every night: writes a note on each tea into the bucket, where its page reads it. */
export async function renewNotes(event: ScheduledController, env: Env): Promise<void> {
  const day = new Date(event.scheduledTime).toISOString().slice(0, 10);
  for (const { id, name } of TEAS) await env.SHELF.put(noteKey(id), `${name}: tasted on ${day}, and good.`);
  console.log("notes renewed", { cron: event.cron, notes: TEAS.length });
}

/** @returns null if there is none yet. */
export async function readNote(tea: string, env: Env): Promise<string | null> {
  const note = await env.SHELF.get(noteKey(tea));
  return note === null ? null : note.text();
}

function noteKey(tea: string): string {
  return `notes/${tea}.txt`;
}
