import { azureForm } from "./azure/azure-form.ts";
import { azure } from "./azure/kind.ts";
import { bindingForm } from "./binding/binding-form.ts";
import { binding } from "./binding/kind.ts";
import type { Destination, DestinationKind, NetworkPlatform, OpenDestination, Place, Terms } from "./destination.ts";
import type { DestinationForm } from "./destination-form.ts";
import { gsForm } from "./gs/gs-form.ts";
import { gs } from "./gs/kind.ts";
import { axiom } from "./receiver/axiom.ts";
import { clickhouse } from "./receiver/clickhouse.ts";
import { datadog } from "./receiver/datadog.ts";
import { elastic } from "./receiver/elastic.ts";
import { https } from "./receiver/https.ts";
import { receiverKind } from "./receiver/kind.ts";
import { loki } from "./receiver/loki.ts";
import { newrelic } from "./receiver/newrelic.ts";
import { otlp } from "./receiver/otlp.ts";
import type { Receiver } from "./receiver/receiver.ts";
import { receiverForm } from "./receiver/receiver-form.ts";
import { splunkEvent, splunkRaw } from "./receiver/splunk.ts";
import { sumo } from "./receiver/sumo.ts";
import { s3 } from "./s3/kind.ts";
import { S3_FORMS } from "./s3/s3-form.ts";

/** Each takes the records of an object in one request; of one scheme, the first one that fits. */
const RECEIVERS: readonly Receiver[] = [
  ...[newrelic, https, elastic, datadog, splunkRaw, splunkEvent, sumo],
  ...[loki, otlp, clickhouse, axiom],
];

/** Every kind of destination. A new kind is a file and a line here. */
export const KINDS: readonly DestinationKind[] = [
  s3,
  gs,
  azure,
  binding,
  ...[...Map.groupBy(RECEIVERS, ({ scheme }) => scheme)].map(([scheme, receivers]) => receiverKind(scheme, receivers)),
];

/**
 * What forms ask for, in the order in which kinds are offered. The first one that owns a string is
 * its form.
 */
export const FORMS: readonly DestinationForm[] = [
  ...S3_FORMS,
  gsForm,
  azureForm,
  bindingForm,
  ...RECEIVERS.map(receiverForm),
];

/** @param path where the probes of its writes go; its own if it is not said. */
export function openDestination(
  destination: Destination,
  platform: NetworkPlatform,
  path: string = destination.path,
): OpenDestination {
  return kindOf(destination).open(destination, path, platform);
}

/** What a place promises, and what a job that ships there has to keep to. */
export function termsOf(place: Place): Terms {
  return kindOf(place).terms(place);
}

/** What a user should know of a destination that works; null: nothing. */
export function remarkOn(destination: Destination): string | null {
  return kindOf(destination).remark?.(destination) ?? null;
}

/** When its credentials end, in ms since the epoch; null: it is not known, or never. */
export function expiryOf(destination: Destination): number | null {
  return kindOf(destination).expiresMs?.(destination) ?? null;
}

function kindOf({ scheme }: Pick<Place, "scheme">): DestinationKind {
  const kind = KINDS.find(({ schemes }) => schemes.includes(scheme));
  if (kind === undefined) throw new Error("a destination of no kind");
  return kind;
}
