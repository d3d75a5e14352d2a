import type { Upload } from "./block.ts";
import type { Reader } from "./reader.ts";
import { expectLost, Fault, Lost, type Step, type Task } from "./task.ts";

type Outcome = "stored" | "taken" | "lost";

/** Bytes and key are fixed with the commit, so any number of attempts is one object. */
export function* upload(reader: Reader, number: number): Task {
  const { s, w } = reader;
  const object = s.objects.find((each) => each.number === number);
  if (object?.state !== "waiting" || s.job === null) return;
  if (reader.uploading.has(number) && w.random.chance(0.7)) return;
  reader.uploading.add(number);
  const { store } = s.job;
  try {
    const outcome = yield* put(reader, store, object);
    const place = `${store}|${object.key}`;
    if (outcome === "taken" && JSON.stringify(w.stores.get(place)?.records) !== JSON.stringify(object.records)) {
      // After a restore alone; it goes on under a new number, and so a new key.
      if (!w.noSums.has(`${reader.job}/${reader.shardN}`)) throw new Fault(`another object under ${place}`);
      object.key = reader.key(s.next++ + 10_000);
      return;
    }
    if (object.state !== "waiting" && !w.is("settlesTwice")) return;
    const n = object.records.length;
    if (outcome !== "lost") {
      object.state = "delivered";
      s.counts.delivered += n;
    } else if (s.job.discard) {
      // Whether the store has it is unknown.
      object.state = "discarded";
      s.counts.discarded += n;
    }
  } finally {
    reader.uploading.delete(number);
  }
}

function* put({ w }: Reader, store: string, object: Upload): Step<Outcome> {
  const { random, stores } = w;
  const place = `${store}|${object.key}`;
  try {
    yield;
    if (random.chance(w.faults ? 0.06 : w.cured ? 0 : 0.2)) throw new Lost("request");
    if (w.broken.has(store)) throw new Lost("store");
    const outcome = stores.has(place) ? "taken" : "stored";
    if (outcome === "stored") {
      w.log(() => `STORE ${place}: ${object.records.map(({ id }) => id).join()}`);
      stores.set(place, { records: object.records, format: object.format });
    }
    yield;
    return w.faults && random.chance(0.06) ? "lost" : outcome;
  } catch (error) {
    expectLost(error);
    return "lost";
  }
}
