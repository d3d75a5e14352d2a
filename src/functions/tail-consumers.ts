/** One entry of `tail_consumers`, as somebody else wrote it: whatever it says beyond its service is kept. */
export interface Consumer {
  readonly service: string;
  readonly [key: string]: unknown;
}

/** With this service named once, where it was named first, or else at the end; all others as they were. */
export function attached(consumers: readonly Consumer[], selfName: string): readonly Consumer[] {
  const at = consumers.findIndex((consumer) => isSelf(consumer, selfName));
  return at === -1
    ? [...consumers, { service: selfName }]
    : consumers.filter((consumer, i) => i === at || !isSelf(consumer, selfName));
}

/** Without this service; all others as they were. */
export function detached(consumers: readonly Consumer[], selfName: string): readonly Consumer[] {
  return consumers.filter((consumer) => !isSelf(consumer, selfName));
}

/** Another environment, or a namespace, makes it another service, of whoever uses the same name there. */
export function isSelf({ service, environment, namespace }: Consumer, selfName: string): boolean {
  return service === selfName && !environment && !namespace;
}

/** Whether it is called as this service is, wherever. */
export function isNamedLike({ service }: Consumer, selfName: string): boolean {
  return service === selfName;
}

/** What the platform is to get of an upload's metadata, or of a function's settings: all of it, but for what is said to us. */
export function withoutLogship(sent: { readonly [key: string]: unknown }): { [key: string]: unknown } {
  return Object.fromEntries(Object.entries(sent).filter(([key]) => key !== "logship" && key !== "logpush"));
}

/**
 * The metadata that an upload goes on with: shipping is said to the platform by who consumes the trace events. An upload without `tail_consumers` has
 * none, at the platform as well, whatever the script had before.
 * @param metadata of which `tail_consumers` is a list of consumers, null or absent.
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
