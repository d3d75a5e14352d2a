/**
 * What a program has to know that checks an archive by its manifests: `npm run verify` takes
 * nothing else of the source.
 */
export { MANIFEST_EMPTY_DAYS_MAX } from "../../base/limits.ts";
export { dayStamp, fillOf, leadsTo, stampedMs } from "../object/keys.ts";
export { MANIFEST_TYPE, splitManifest } from "./manifest.ts";
export { MANIFEST_PATH, SKETCH_PATH } from "./place.ts";
export { isSignedBy, type PublicKey, readPublicKey } from "./signing.ts";
