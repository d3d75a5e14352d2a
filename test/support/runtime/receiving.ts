import { vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { NOON } from "../../formats/record/samples.ts";
import type { ReceiverService } from "../../ship/destinations/receivers.ts";
import { setClock } from "./pipeline.ts";

/**
 * Requests to a receiver's host go to it, all others to where they go, until mocks are restored. It
 * is a second after {@link NOON}, by which receivers of tests judge times.
 * @returns the requests, as they come.
 */
export function receiving(conf: string, fetch: ReceiverService["fetch"]): { url: string; init: RequestInit }[] {
  vi.restoreAllMocks();
  setClock(NOON + 1_000);
  const host = new URL(conf.replace(/^[a-z0-9-]+:/, "https:")).host;
  const original = platform.fetch;
  const requests: { url: string; init: RequestInit }[] = [];
  vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
    if (new URL(url).host !== host) return original(url, init);
    requests.push({ url, init });
    return fetch(url, init);
  });
  return requests;
}
