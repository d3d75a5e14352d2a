import type * as z from "zod";

/** One entry of `tail_consumers`. All its other properties are kept. */
export interface Consumer {
  readonly service: string;
  readonly [key: string]: unknown;
}

/** A rule of bodies that may have the property that attaches under either of its names. */
export const ONE_NAME: Parameters<z.ZodType<{ logship?: unknown; logpush?: unknown }>["refine"]> = [
  ({ logship, logpush }) => logship === undefined || logpush === undefined,
  {
    path: ["logpush"],
    error: "is another name of logship; send only one of them",
    // Reported beside other faults, too.
    when: ({ value }) => typeof value === "object" && value !== null,
  },
];

/** With this service once, at its first place or else at the end; all others unchanged. */
export function attached(consumers: readonly Consumer[], selfName: string): readonly Consumer[] {
  const at = consumers.findIndex((consumer) => isSelf(consumer, selfName));
  return at === -1
    ? [...consumers, { service: selfName }]
    : consumers.filter((consumer, i) => i === at || !isSelf(consumer, selfName));
}

/** Without this service; all others unchanged. */
export function detached(consumers: readonly Consumer[], selfName: string): readonly Consumer[] {
  return consumers.filter((consumer) => !isSelf(consumer, selfName));
}

/** With an environment or a namespace it is another service of the same name. */
export function isSelf({ service, environment, namespace }: Consumer, selfName: string): boolean {
  return service === selfName && !environment && !namespace;
}

/** Whether it has the name of this service, in any environment or namespace. */
export function isNamedLike({ service }: Consumer, selfName: string): boolean {
  return service === selfName;
}

/**
 * An upload's metadata, or a function's settings, without the properties that are for this service.
 */
export function withoutLogship(sent: { readonly [key: string]: unknown }): { [key: string]: unknown } {
  return Object.fromEntries(Object.entries(sent).filter(([key]) => key !== "logship" && key !== "logpush"));
}

/**
 * The metadata that is forwarded. To the platform, shipping means that this service is a tail
 * consumer. An upload without `tail_consumers` removes all that the script had, as it does there.
 * @param metadata its `tail_consumers` is a list of consumers, null or absent.
 */
export function platformMetadata(
  metadata: { readonly [key: string]: unknown },
  ships: boolean,
  selfName: string,
): { [key: string]: unknown } {
  const kept = withoutLogship(metadata);
  const consumers = (kept.tail_consumers ?? null) as readonly Consumer[] | null;
  if (ships) kept.tail_consumers = attached(consumers ?? [], selfName);
  else if (consumers !== null) kept.tail_consumers = detached(consumers, selfName);
  return kept;
}
