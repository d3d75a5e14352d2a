import { concat } from "../bytes.ts";
import { within } from "../platform.ts";
import type { ObjectStore, StoreAnswer } from "./object-store.ts";

export type SmallRead =
  | { ok: true; bytes: Uint8Array }
  /** `refused`: the store's answer says why. */
  | { ok: false; why: "refused"; answer: StoreAnswer }
  | { ok: false; why: "too large" | "late" | "broken off" };

const LATE = { ok: false, why: "late" } as const;

/**
 * A whole object that is known to be small. Never throws.
 * @param maxBytes of a larger one, nothing more is read.
 * @param ms for everything together: answer and body.
 */
export async function readSmall(
  store: Pick<ObjectStore, "get">,
  key: string,
  { maxBytes, ms }: { maxBytes: number; ms: number },
): Promise<SmallRead> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  let isOver = false;
  const read = async (): Promise<SmallRead> => {
    const { answer, body } = await store.get(key);
    if (body === null) return { ok: false, why: "refused", answer };
    reader = body.getReader();
    // Nobody waits any more: what still comes is let go.
    if (isOver) return LATE;
    const pieces: Uint8Array[] = [];
    for (let total = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) return { ok: true, bytes: concat(pieces) };
      total += value.length;
      if (total > maxBytes) return { ok: false, why: "too large" };
      pieces.push(value);
    }
  };
  const broken = { ok: false, why: "broken off" } as const;
  const letGo = (): void => {
    // Not waited for: a body that hangs may hang here as well.
    reader?.cancel().catch(() => {});
  };
  const reading = read()
    .catch(() => broken)
    .finally(letGo);
  const result = await within<SmallRead, SmallRead>(ms, reading, LATE);
  isOver = true;
  letGo();
  return result;
}
