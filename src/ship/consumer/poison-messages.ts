import type { Delivery } from "../../formats/queue/retries.ts";
import { ALONE_DEATHS } from "../log/redeliveries.ts";

/** How often a message is tried alone before it is set aside. */
const ALONE_MAX = 3;

type Suspect = Pick<Delivery, "attempts">;

/** What is done with a batch in which there are messages that earlier batches died with. */
export interface Parted<D> {
  /** To be tried now, in order. */
  now: readonly D[];
  /** To be given back at once, untried. */
  later: readonly D[];
  /** To be set aside: it died alone, again and again. Then nothing is tried beside it. */
  hopeless: readonly D[];
  /** `now` is one message, and batches died with it. */
  isAlone: boolean;
}

/**
 * Isolates a message that kills the handler, by halves. Acknowledgements of a killed handler do not
 * count, so what is suspected is tried apart from what is not: in turns, as there may always be
 * both. Of what is suspected, half of those with the most deaths is tried; what died alone comes
 * after all others, so that it is the last to be waited for.
 * @param deathsOf how many deliveries were killed in a row; {@link ALONE_DEATHS} and more: the
 *   message was tried alone.
 */
export function parted<D extends Suspect>(deliveries: readonly D[], deathsOf: (delivery: D) => number): Parted<D> {
  const hopeless = deliveries.filter((each) => deathsOf(each) >= ALONE_DEATHS + ALONE_MAX);
  const rest = deliveries.filter((each) => !hopeless.includes(each));
  // It is known as set aside from then on, not as a killer: its acknowledgement must not be lost.
  if (hopeless.length > 0) return { now: [], later: rest, hopeless, isAlone: false };
  const suspects = rest.filter((each) => deathsOf(each) > 0);
  const others = rest.filter((each) => deathsOf(each) === 0);
  if (suspects.length === 0) return { now: others, later: [], hopeless, isAlone: false };
  const isTurn = Math.max(...suspects.map(({ attempts }) => attempts)) % 2 === 0;
  if (others.length > 0 && !isTurn) return { now: others, later: suspects, hopeless, isAlone: false };
  const notAlone = suspects.filter((each) => deathsOf(each) < ALONE_DEATHS);
  const most = Math.max(...(notAlone.length > 0 ? notAlone : suspects).map(deathsOf));
  const peers = suspects.filter((each) => deathsOf(each) === most);
  const now = new Set(peers.slice(0, Math.max(1, peers.length >> 1)));
  const later = rest.filter((each) => !now.has(each));
  return { now: [...now], later, hopeless, isAlone: now.size === 1 };
}
