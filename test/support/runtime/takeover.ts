import { until } from "../until.ts";
import type { HeldMessage } from "./queue.ts";
import type { World } from "./world.ts";

/** Whether objects are to take a message over, as its flags say: src/formats/queue/message.ts. */
export function isTakeover({ body }: Pick<HeldMessage, "body">): boolean {
  return ((body[3] as number) & 4) !== 0;
}

/** An isolate asks for the jobs once a minute. */
const ASK_MS = 60_000;

/** Sends large messages until intake knows that a job takes them over. @param send one of these. */
export async function takingOver(world: World, send: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    world.clock.advance(ASK_MS);
    await send();
    return world.queue.held.some(isTakeover);
  });
}
