import { DurableObject } from "cloudflare:workers";

/**
 * Time of intake and packing of keyed requests, as their first copy fixed them. Empty in this
 * version, and never called: the platform does not roll back across the migration that adds a
 * class, so it is declared ahead of the version that uses it.
 */
export class KeyRegister extends DurableObject<Env> {}
