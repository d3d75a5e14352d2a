import type { Config } from "../config.ts";
import { controlPlane, type StoredJob } from "../control/plane.ts";
import type { Destination, Parsed } from "../destinations/destination.ts";
import { openDestination } from "../destinations/kinds.ts";
import { isMasked, parseDestination, parsePlace, sameFolder } from "../destinations/parse.ts";
import { unavailable } from "../errors.ts";
import { readLogpull } from "../job/rules.ts";
import { AskDestination, AskOrigin } from "../job/schema.ts";
import { destinationPurpose, unseal } from "../job/secrets.ts";
import { DATASETS } from "../record/fields.ts";
import { jsonBody } from "./body.ts";
import { DESTINATION_EXISTS, VALIDATE_DESTINATION, VALIDATE_ORIGIN } from "./docs/destinations.ts";
import { success } from "./envelope.ts";
import { type AppContext, isDataset, type Resource } from "./route.ts";

/** What a job's creation would say of one part of it. A part that is not valid is an answer, not an error: clients look at `valid`. */
export const validationRoutes: readonly Resource[] = [
  {
    path: "/validate/destination",
    methods: {
      POST: {
        permission: "logs:edit",
        action: null,
        doc: VALIDATE_DESTINATION,
        async handle(c, config, platform) {
          const { destination_conf } = await jsonBody(c.req.raw, AskDestination);
          const destination = sentDestination(destination_conf, config);
          if (!destination.ok) return verdict(c, [destination.why]);
          const { value } = destination;
          const fault = await openDestination(value, platform).probe();
          return verdict(c, fault === null ? [] : [fault]);
        },
      },
    },
  },
  {
    path: "/validate/destination/exists",
    methods: {
      POST: {
        permission: "logs:edit",
        action: null,
        doc: DESTINATION_EXISTS,
        async handle(c, config) {
          const { destination_conf } = await jsonBody(c.req.raw, AskDestination);
          return success(c, { exists: await isInUse(c.env, destination_conf, config) });
        },
      },
    },
  },
  {
    path: "/validate/origin",
    methods: {
      POST: {
        permission: "logs:edit",
        action: null,
        doc: VALIDATE_ORIGIN,
        async handle(c) {
          const { logpull_options, dataset } = await jsonBody(c.req.raw, AskOrigin);
          const faults = isDataset(dataset ?? DATASETS[0]) ? [] : [`dataset: must be one of ${DATASETS.join(", ")}`];
          const read = readLogpull(logpull_options ?? "");
          return verdict(c, read.ok ? faults : [...faults, ...read.faults.map(({ message }) => message)]);
        },
      },
    },
  },
];

function verdict(c: AppContext, faults: readonly string[]): Response {
  return success(c, { valid: faults.length === 0, message: faults.join("; ") });
}

/** A destination that is to be written to now: with all of its keys, as there is no job whose keys a mask could stand for. */
export function sentDestination(conf: string, config: Config): Parsed<Destination> {
  if (isMasked(conf)) return { ok: false, why: "a masked secret stands for none here" };
  return parseDestination(conf, config.destinations);
}

/**
 * Whether a job here ships to the same folder, whatever its keys and however its string calls the store. What is no destination, no job can have.
 * @throws ApiError 503 if that depends on a job whose destination no key opens.
 */
async function isInUse(env: Env, conf: string, config: Config): Promise<boolean> {
  const wanted = parsePlace(conf, config.destinations);
  if (!wanted.ok) return false;
  const jobs: StoredJob[] = await controlPlane(env.CONTROL).list();
  const alike = jobs.filter((job) => job.config.path === wanted.value.path);
  const confs = alike.map((job) => unseal(job.config.destination, destinationPurpose(config.accountId), config.keys));
  const isThere = confs.some((stored) => {
    const place = stored === null ? null : parsePlace(stored, config.destinations);
    return place?.ok === true && sameFolder(place.value, wanted.value);
  });
  if (!isThere && confs.includes(null))
    throw unavailable("no key opens the destination of a job that may be there", 60);
  return isThere;
}
