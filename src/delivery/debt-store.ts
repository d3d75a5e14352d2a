import { DurableObject } from "cloudflare:workers";

/**
 * What a job's log could not take when its messages were processed, until it is paid. Empty in
 * this version, and never called: the platform does not roll back across the migration that adds
 * a class, so it is declared ahead of the version that uses it.
 */
export class DebtStore extends DurableObject<Env> {}
