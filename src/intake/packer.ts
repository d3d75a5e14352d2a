import { DurableObject } from "cloudflare:workers";

/**
 * Gathers what several isolates took in into fewer and larger messages. Empty in this version,
 * and never called: the platform does not roll back across the migration that adds a class, so
 * it is declared ahead of the version that uses it.
 */
export class Packer extends DurableObject<Env> {}
