import { report } from "./report.ts";

export interface Order {
  readonly id: string;
  readonly tea: string;
  readonly packets: number;
  readonly to: string;
}

/**
 * One invocation, and one trace event, for each batch. Each message is acknowledged or retried by
 * itself, so a failing order holds up no other; errors are thrown at the end, which makes the
 * outcome `exception`. Locally that retries acknowledged messages as well, and a queue may deliver
 * twice anywhere: an order with a receipt is not packed again.
 */
export async function packOrders(batch: MessageBatch<Order>, env: Env): Promise<void> {
  const failures: unknown[] = [];
  for (const message of batch.messages) {
    try {
      await takeOrder(message, batch.queue, env);
      message.ack();
    } catch (error) {
      failures.push(error);
      message.retry();
    }
  }
  if (failures.length === 0) return;
  for (const failure of failures.slice(1)) report("packing an order", failure);
  throw failures[0];
}

async function takeOrder({ body: order, attempts }: Message<Order>, queue: string, env: Env): Promise<void> {
  const receipt = `receipts/${order.id}.txt`;
  if ((await env.SHELF.head(receipt)) !== null) {
    console.log("order packed before", { id: order.id });
  } else if (queue.endsWith("-dead")) {
    // The dead-letter queue: an order that failed each time.
    console.error("order given up", order);
  } else {
    console.log("packing an order", { ...order, attempt: attempts });
    if (order.to === "the moon") throw new Error(`no courier goes to ${order.to}`);
    await env.SHELF.put(receipt, `${order.packets} of ${order.tea}, to ${order.to}`);
  }
}
