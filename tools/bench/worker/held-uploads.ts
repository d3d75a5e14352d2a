/**
 * A reader begins to upload as soon as it has cut: where cuts and uploads are measured apart, the
 * uploads are held.
 */
import type { Attempts } from "../../../src/ship/reader/attempts.ts";

export const uploads = { areHeld: false };

/** Has attempts of a reader end at once, and change nothing, while they are held. */
export function hold(attempts: Attempts): void {
  const upload = attempts.uploadOne.bind(attempts);
  attempts.uploadOne = async (object) => {
    if (!uploads.areHeld) await upload(object);
  };
}
