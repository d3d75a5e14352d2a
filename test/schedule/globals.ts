import nodeCrypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { lives, type Scheduler } from "./scheduler.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const RealDate = Date;
const realTimers = { setTimeout, clearTimeout };

/**
 * What the source takes from its surroundings comes from the scheduler from here on: time, timers,
 * randomness, network. Nothing that is left runs on another thread, so that the order of events
 * follows from the seed alone. @returns what undoes it.
 */
export function takeOver(scheduler: Scheduler, fetch: Fetch): () => void {
  const { random } = scheduler;
  const now = (): number => scheduler.nowMs + (lives.getStore()?.skewMs ?? 0);
  const filled = <T extends NodeJS.ArrayBufferView>(view: T): T => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = random.below(256);
    return view;
  };
  const before = { Date: globalThis.Date, ...realTimers, fetch: globalThis.fetch, random: Math.random };
  const { getRandomValues, randomUUID } = crypto;
  const { randomBytes } = nodeCrypto;
  const { digest, sign, importKey } = crypto.subtle;
  const console_ = { info: console.info, warn: console.warn, error: console.error };

  class VirtualDate extends RealDate {
    constructor(...args: []) {
      super(...(args.length === 0 ? ([now()] as unknown as []) : args));
    }
    static override now = now;
  }
  Object.assign(globalThis, {
    Date: VirtualDate,
    setTimeout: (run: () => void, ms = 0) => ({
      cancel: scheduler.at(scheduler.nowMs + ms, run, lives.getStore() ?? null),
    }),
    clearTimeout: (timer?: { cancel?: () => void }) => timer?.cancel?.(),
    // As all that leaves, it waits for what was written before.
    fetch: (url: string, init: RequestInit) =>
      new Promise((resolve, reject) => {
        const leave = (): void => void fetch(url, init).then(resolve, reject);
        const life = lives.getStore();
        if (life === undefined) leave();
        else life.send(leave);
      }),
    FixedLengthStream,
  });
  Math.random = () => random.next();
  Object.assign(crypto, {
    getRandomValues: filled,
    randomUUID: () => {
      const hex = Buffer.from(filled(new Uint8Array(16))).toString("hex");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
  });
  nodeCrypto.randomBytes = ((size: number) => filled(Buffer.alloc(size))) as typeof nodeCrypto.randomBytes;
  syncBuiltinESMExports();
  Object.assign(crypto.subtle, hmacAtOnce);
  const said = (line: { message?: string; events?: number }): void => {
    if (line.message === "the loss could not be counted") scheduler.uncounted += line.events ?? 0;
    scheduler.log(() => `${lives.getStore()?.name ?? "?"} says ${JSON.stringify(line)}`);
  };
  Object.assign(console, { info: said, warn: said, error: said });
  return () => {
    Object.assign(globalThis, { ...before });
    Math.random = before.random;
    Object.assign(crypto, { getRandomValues, randomUUID });
    Object.assign(crypto.subtle, { digest, sign, importKey });
    Object.assign(console, console_);
    nodeCrypto.randomBytes = randomBytes;
    syncBuiltinESMExports();
  };
}

/** As much of `crypto.subtle` as signatures of requests need, without a thread. */
const hmacAtOnce = {
  importKey: async (_format: string, key: BufferSource) => ({ key }),
  sign: async (_kind: string, { key }: { key: NodeJS.ArrayBufferView }, data: NodeJS.ArrayBufferView) =>
    buffer(nodeCrypto.createHmac("sha256", key).update(data).digest()),
  digest: async (_kind: string, data: NodeJS.ArrayBufferView) =>
    buffer(nodeCrypto.createHash("sha256").update(data).digest()),
};

function buffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

/**
 * The runtime's own: it fails unless as many bytes come as were announced. A piece is copied, as
 * its writer frees it once it is written.
 */
class FixedLengthStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(bytes: number) {
    let left = bytes;
    super({
      transform(chunk, controller) {
        left -= chunk.byteLength;
        if (left < 0) throw new TypeError("too many bytes");
        controller.enqueue(chunk.slice());
      },
      flush() {
        if (left > 0) throw new TypeError("too few bytes");
      },
    });
  }
}
