import { DurableObject } from "cloudflare:workers";

/**
 * What the objects of one job and day hold, in short, so that searches skip those without a
 * match. Empty in this version, and never called: the platform does not roll back across the
 * migration that adds a class, so it is declared ahead of the version that uses it.
 */
export class SketchStore extends DurableObject<Env> {}
