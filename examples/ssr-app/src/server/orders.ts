export interface Order {
  readonly id: string;
  readonly tea: string;
  readonly packets: number;
  readonly to: string;
}

/**
 * One invocation, and one trace event, for each batch. A message is acknowledged once its order is packed: what is thrown at a later one has only that one,
 * and those after it, delivered again.
 */
export async function packOrders(batch: MessageBatch<Order>, env: Env): Promise<void> {
  for (const message of batch.messages) {
    const order = message.body;
    // The dead-letter queue of the other one, where an order arrives that failed each time.
    if (batch.queue.endsWith("-dead")) {
      console.error("order given up", order);
    } else {
      console.log("packing an order", { ...order, attempt: message.attempts });
      if (order.to === "the moon") throw new Error(`no courier goes to ${order.to}`);
      await env.SHELF.put(`receipts/${order.id}.txt`, `${order.packets} of ${order.tea}, to ${order.to}`);
    }
    message.ack();
  }
}
