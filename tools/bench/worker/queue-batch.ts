/** A batch as the queue delivers it. */
export interface Batch extends MessageBatch<unknown> {
  /** @throws if a message was not acknowledged: the measurement would be wrong. */
  assertAcknowledged(): void;
}

export function batchOf(bodies: readonly ArrayBuffer[], nowMs: number): Batch {
  let acknowledged = 0;
  return {
    queue: "logship-events",
    messages: bodies.map((body, i) => ({
      id: `${i}`,
      timestamp: new Date(nowMs),
      attempts: 1,
      body,
      ack: () => {
        acknowledged += 1;
      },
      retry: () => {},
    })),
    metadata: { metrics: { backlogCount: 0, backlogBytes: 0, oldestMessageTimestamp: new Date(0) } },
    ackAll: () => {},
    retryAll: () => {},
    assertAcknowledged: () => {
      if (acknowledged !== bodies.length) {
        throw new Error(`${acknowledged} of ${bodies.length} messages were acknowledged`);
      }
    },
  };
}
