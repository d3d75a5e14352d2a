import { CODE, unavailable } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { DATASETS } from "../../formats/record/fields.ts";
import { decrypt, destinationPurpose } from "../../formats/secrets/encrypted.ts";
import type { Destination, Parsed } from "../../ship/destinations/destination.ts";
import { openDestination, remarkOn } from "../../ship/destinations/kinds.ts";
import { isMasked, parseNewDestination, parsePlace, sameFolder } from "../../ship/destinations/parse.ts";
import { readLogpull } from "../../ship/job/rules.ts";
import { controlPlane, type StoredJob } from "../../state/control/plane.ts";
import { bodyOf } from "./body.ts";
import { DESTINATION_EXISTS, VALIDATE_DESTINATION, VALIDATE_ORIGIN } from "./docs/destinations.ts";
import { type Message, success } from "./envelope.ts";
import { type AppContext, isDataset, type Resources, type Route } from "./route.ts";

const ASKING = { permission: "logs:edit", action: null } as const satisfies Partial<Route>;

/**
 * Checks one part of a job as its creation would. An invalid part is an answer with `valid: false`,
 * not an error.
 */
export const validationRoutes: Resources = {
  "/validate/destination": { POST: { ...ASKING, doc: VALIDATE_DESTINATION, handle: validateDestination } },
  "/validate/destination/exists": { POST: { ...ASKING, doc: DESTINATION_EXISTS, handle: destinationExists } },
  "/validate/origin": { POST: { ...ASKING, doc: VALIDATE_ORIGIN, handle: validateOrigin } },
};

async function validateDestination(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { destination_conf } = await bodyOf(c, VALIDATE_DESTINATION);
  const destination = sentDestination(destination_conf, config);
  if (!destination.ok) return verdict(c, [destination.why]);
  const { value } = destination;
  const fault = await openDestination(value, platform).probe();
  return fault === null ? verdict(c, [], await remarks(value, platform)) : verdict(c, [fault]);
}

/** What a destination does not allow or promise, though it works. */
export async function remarks(destination: Destination, platform: Platform): Promise<Message[]> {
  const said = [remarkOn(destination), (await openDestination(destination, platform).remark?.()) ?? null];
  return said
    .filter((remark) => remark !== null)
    .map((remark) => ({ code: CODE.note, message: `destination_conf: ${remark}` }));
}

async function destinationExists(c: AppContext, config: Config): Promise<Response> {
  const { destination_conf } = await bodyOf(c, DESTINATION_EXISTS);
  return success(c, { exists: await isInUse(c.env, destination_conf, config) });
}

async function validateOrigin(c: AppContext, { extraFields }: Config): Promise<Response> {
  const { logpull_options, dataset } = await bodyOf(c, VALIDATE_ORIGIN);
  const faults = isDataset(dataset ?? DATASETS[0]) ? [] : [`dataset: must be one of ${DATASETS.join(", ")}`];
  const read = readLogpull(logpull_options ?? "", extraFields);
  return verdict(c, read.ok ? faults : [...faults, ...read.faults.map(({ message }) => message)]);
}

function verdict(c: AppContext, faults: readonly string[], messages: Message[] = []): Response {
  return success(c, { valid: faults.length === 0, message: faults.join("; ") }, { messages });
}

/**
 * Parses a destination for immediate use: no stored keys belong to it, so a masked secret is
 * refused.
 */
export function sentDestination(conf: string, config: Config): Parsed<Destination> {
  if (isMasked(conf)) return { ok: false, why: "a masked secret cannot be used here; send the secret itself" };
  return parseNewDestination(conf, config.destinations);
}

/**
 * Whether a job ships to the same folder, whatever its keys and its spelling of the store. A
 * malformed destination is never in use.
 * @throws ApiError 503 if the answer depends on a job whose destination no key opens.
 */
async function isInUse(env: Env, conf: string, config: Config): Promise<boolean> {
  const wanted = parsePlace(conf, config.destinations);
  if (!wanted.ok) return false;
  const jobs: StoredJob[] = await controlPlane(env.CONTROL).list();
  const alike = jobs.filter((job) => job.config.path === wanted.value.path);
  const confs = alike.map((job) => decrypt(job.config.destination, destinationPurpose(config.accountId), config.keys));
  const isThere = confs.some((stored) => {
    const place = stored === null ? null : parsePlace(stored, config.destinations);
    return place?.ok === true && sameFolder(place.value, wanted.value);
  });
  if (!isThere && confs.includes(null))
    throw unavailable("no key opens the stored destination of a job that may ship there", 60);
  return isThere;
}
