import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";

export interface Restocking {
  readonly tea: string;
  readonly packets: number;
}

/** Orders tea and waits for the ship. Completed steps stay completed across restarts. */
export class Restock extends WorkflowEntrypoint<Env, Restocking> {
  override async run(event: WorkflowEvent<Restocking>, step: WorkflowStep): Promise<void> {
    const { tea, packets } = event.payload;
    console.log("restocking", { tea, packets });
    await step.do("order from the garden", async () => `${packets} of ${tea}`);
    await step.sleep("the ship is under way", "1 second");
    // A step that is interrupted before its end is stored runs again. The stock knows this run by
    // its id, and adds once. Returns a number: an RPC object that leaves a step would be held until
    // it is disposed of.
    const added = await step.do("put into stock", async () =>
      this.env.STOCK.getByName(tea).add(packets, event.instanceId),
    );
    console.log("restocked", { tea, packets: added });
  }
}
