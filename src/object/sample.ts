/**
 * Whether a record is in a job's sample: a function of the job, the message and the record's place
 * in it, never of chance. A record that is delivered again gets the same answer, and two jobs draw
 * independent samples.
 */
export type Sampler = (messageId: string) => (index: number) => boolean;

const everything: Sampler = () => () => true;

/**
 * @param rate share to keep, above 0, at most 1. It is met as closely as by chance.
 */
export function sampler(jobId: number, rate: number): Sampler {
  if (rate >= 1) return everything;
  const job = mix(jobId);
  return (messageId) => {
    const words = [0, 8, 16, 24].map((at) => word(messageId, at));
    const first = words.reduce((hash, each) => mix(hash ^ each), job);
    const second = words.reduceRight((hash, each) => mix(hash ^ each), ~job);
    return (index) => {
      const high = mix(first + index);
      const low = mix(second ^ high);
      // 53 bits: a rate of one in a billion is met as well.
      return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53 < rate;
    };
  };
}

function word(hex: string, at: number): number {
  return Number.parseInt(hex.slice(at, at + 8), 16);
}

/**
 * The finalizer of MurmurHash3 over 32 bits: each bit of the input flips each bit of the result
 * with a chance of one half.
 */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
