/** What a store or a receiver may do in an episode. */
import type { DialectName } from "../support/receiver.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { type Action, type Match, type Rule, rule } from "../support/s3-script.ts";
import type { Random } from "./random.ts";

/** Without those that test whether it takes any. */
const POSTS: Match = { method: "POST", keyExcludes: "/test-" };
const PUTS: Match = { method: "PUT", keyIncludes: ".log.gz" };
const HEADS: Match = { method: "HEAD" };

interface Misbehaviour {
  words: string;
  rules: Rule[];
}

/** The same of a receiver. */
function misbehaviourOf(receiver: DialectName, random: Random, times: number): Misbehaviour {
  const any: readonly Action[] = [
    { do: "answer", status: 503 },
    { do: "answer", status: 503, store: true },
    { do: "answer", status: 429, headers: { "retry-after": String(random.int(1, 900)) } },
    { do: "answer", status: 403 },
    { do: "answer", status: 400 },
    { do: "redirect", location: "http://127.0.0.1:1/elsewhere" },
    { do: "reset", when: "before" },
    { do: "reset", when: "during" },
    { do: "reset", when: "after" },
    { do: "limit", records: 3 },
  ];
  const named: readonly Action[] = [
    { do: "refuse", each: 2, status: 429 },
    { do: "refuse", each: 3, status: 400 },
  ];
  const action = random.pick(receiver === "elastic" ? [...any, ...named] : any);
  return { words: `${JSON.stringify(action)}, ${times} times`, rules: [rule(action, POSTS, times)] };
}

/**
 * Rules for a while, and their description for the trace. Denial of an object that the store holds
 * is left out, because that cannot be detected.
 */
export function misbehaviour(random: Random, { receiver }: Pick<WorldJob, "receiver">): Misbehaviour {
  const times = random.int(1, 4);
  if (receiver !== null) return misbehaviourOf(receiver, random, times);
  const puts = (action: Action, match = PUTS): Rule => rule(action, match, times);
  const kinds: readonly { weight: number; words: string; rules: () => Rule[] }[] = [
    { weight: 4, words: "503", rules: () => [puts({ do: "answer", status: 503, code: "SlowDown" })] },
    {
      weight: 2,
      words: "429 with Retry-After",
      rules: () => [puts({ do: "answer", status: 429, headers: { "retry-after": String(random.int(1, 900)) } })],
    },
    { weight: 3, words: "500 after storing", rules: () => [puts({ do: "answer", status: 500, store: true })] },
    {
      weight: 2,
      words: "403 for everything",
      rules: () => [rule({ do: "answer", status: 403, code: "AccessDenied" })],
    },
    {
      weight: 1,
      words: "404 for everything",
      rules: () => [rule({ do: "answer", status: 404, code: "NoSuchBucket" })],
    },
    { weight: 2, words: "reset before", rules: () => [puts({ do: "reset", when: "before" })] },
    { weight: 2, words: "reset during", rules: () => [puts({ do: "reset", when: "during" })] },
    { weight: 4, words: "reset after storing", rules: () => [puts({ do: "reset", when: "after" })] },
    {
      weight: 2,
      words: "reset after storing, HEAD 503",
      rules: () => [puts({ do: "reset", when: "after" }), puts({ do: "answer", status: 503 }, HEADS)],
    },
    {
      weight: 2,
      words: "500 after storing, HEAD refused",
      rules: () => [
        puts({ do: "answer", status: 500, store: true }),
        puts({ do: "answer", status: 403, code: "AccessDenied" }, HEADS),
      ],
    },
    { weight: 2, words: "half of each body kept", rules: () => [puts({ do: "truncate" })] },
    { weight: 2, words: "wrong ETags", rules: () => [puts({ do: "wrong-etag" })] },
    { weight: 1, words: "200 and nothing kept", rules: () => [puts({ do: "answer", status: 200 })] },
    {
      weight: 1,
      words: "a page instead of an answer",
      rules: () => [
        puts({ do: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<html>Sign in</html>" }),
      ],
    },
    {
      weight: 1,
      words: "redirects",
      rules: () => [rule({ do: "redirect", location: "http://127.0.0.1:1/elsewhere" }, PUTS, times)],
    },
    {
      weight: 2,
      words: "501 to the condition",
      rules: () => [rule({ do: "answer", status: 501, code: "NotImplemented" }, { ...PUTS, conditional: true })],
    },
    { weight: 2, words: "condition ignored", rules: () => [rule({ do: "ignore-conditional" }, PUTS)] },
    {
      weight: 1,
      words: "conditions ignored, then resets after storing",
      rules: () => [puts({ do: "reset", when: "after" }), rule({ do: "ignore-conditional" }, PUTS)],
    },
    { weight: 1, words: "412 out of the blue", rules: () => [puts({ do: "answer", status: 412 })] },
    {
      weight: 2,
      words: "413 to one object",
      rules: () => [rule({ do: "answer", status: 413, code: "EntityTooLarge" }, PUTS, 1)],
    },
    {
      weight: 1,
      words: "400 of the moment",
      rules: () => [puts({ do: "answer", status: 400, code: "RequestTimeout" })],
    },
  ];
  const { words, rules } = random.weighted(kinds);
  return { words: `${words}, ${times} times`, rules: rules() };
}
