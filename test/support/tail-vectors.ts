import type vectors from "../fixtures/tail-vectors.json";
import text from "../fixtures/tail-vectors.json?raw";

/**
 * Trace items and the records that they become. Parsed here: as a module, the file has tokens that
 * the runtime refuses.
 */
export default JSON.parse(text) as typeof vectors;
