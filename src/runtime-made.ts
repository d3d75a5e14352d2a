/**
 * What the runtime made, and what came by RPC. A function that is bound to this Worker can call the
 * handlers of its default export by RPC, with arguments of its own. RPC carries plain objects,
 * built-in types and stubs; objects of the classes below cannot be sent, not even by a function
 * that has one. These classes have no global name, so they are told by a method of their prototype,
 * which nothing that RPC carries has.
 */
function isOfClassWith(method: string, value: unknown): boolean {
  // A stub has every method, and the type of a function.
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return typeof prototype === "object" && prototype !== null && Object.hasOwn(prototype, method);
}

/** @throws TypeError unless it is a batch of the platform's queue, with its own messages. */
export function requireBatch(batch: MessageBatch<unknown>): void {
  const isMade = isOfClassWith("ackAll", batch) && batch.messages.every((message) => isOfClassWith("ack", message));
  if (!isMade) throw new TypeError("queue() takes batches of the platform's queues only");
}

/** @throws TypeError unless it comes from the platform's clock. */
export function requireTick(controller: ScheduledController): void {
  if (!isOfClassWith("noRetry", controller)) throw new TypeError("scheduled() is for the platform's clock only");
}

/**
 * Whether the runtime made it: its class has a tag that RPC does not carry. In local development,
 * the trace items of another process are plain objects.
 */
export function isTraceItem(item: unknown): boolean {
  return Object.prototype.toString.call(item) === "[object TraceItem]";
}

/**
 * What is no {@link isTraceItem} is taken, too, as by `Shipper.ship`, and not as traced.
 * @throws TypeError unless it is an array of objects, of at most this many.
 */
export function requireItems(items: unknown, atMost: number): void {
  const isList = Array.isArray(items) && items.length <= atMost;
  if (!isList || !items.every((item) => typeof item === "object" && item !== null && !Array.isArray(item)))
    throw new TypeError("tail() takes trace items only");
}
