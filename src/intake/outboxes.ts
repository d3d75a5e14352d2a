import { OUTBOX_SHARDS } from "../limits.ts";
import { type Outbox, type OutboxStatus, outbox } from "./outbox.ts";

/** Which object of the outbox keeps a message. The blob store's shards go by the first digit. */
export function outboxShardOf(id: string): number {
  return Number.parseInt(id.slice(-2), 16) % OUTBOX_SHARDS;
}

/** All objects of the outbox. */
export function outboxes(namespace: DurableObjectNamespace<Outbox>): DurableObjectStub<Outbox>[] {
  return Array.from({ length: OUTBOX_SHARDS }, (_, shard) => outbox(namespace, shard));
}

/** What all of them hold. @throws if one does not answer. */
export async function outboxStatus(namespace: DurableObjectNamespace<Outbox>): Promise<OutboxStatus> {
  const all: OutboxStatus[] = await Promise.all(outboxes(namespace).map((each) => each.status()));
  const oldest = Math.min(...all.map(({ oldestTakenMs }) => oldestTakenMs ?? Number.POSITIVE_INFINITY));
  return {
    messages: all.reduce((sum, { messages }) => sum + messages, 0),
    events: all.reduce((sum, { events }) => sum + events, 0),
    oldestTakenMs: Number.isFinite(oldest) ? oldest : null,
    storedBytes: Math.max(...all.map(({ storedBytes }) => storedBytes)),
  };
}

/** Drives each of them; one that fails holds up no other. @throws then, after all. */
export async function driveOutboxes(namespace: DurableObjectNamespace<Outbox>): Promise<void> {
  const driven = await Promise.allSettled(outboxes(namespace).map((each) => each.drive()));
  for (const each of driven) if (each.status === "rejected") throw each.reason;
}
