import { DurableObject } from "cloudflare:workers";
import { platform } from "../platform.ts";
import { type Migration, migrate } from "../storage/migrate.ts";
import { gather } from "./gather.ts";
import { RHYTHM_SQL, Rhythm } from "./rhythm.ts";
import { findingsOf } from "./rules.ts";
import { SAMPLES_SQL, Samples } from "./samples.ts";
import type { Finding } from "./types.ts";

export const WATCH_STEPS = [
  { id: 1, why: "what is wrong shows by what was before", sql: `${SAMPLES_SQL}${RHYTHM_SQL}` },
] as const satisfies readonly Migration[];

/** Looks at everything, remembers since when what is wrong, and tells whoever wants to be told. */
export class Watch extends DurableObject<Env> {
  readonly #samples: Samples;
  readonly #rhythm: Rhythm;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    migrate(ctx.storage, WATCH_STEPS);
    this.#samples = new Samples(ctx.storage.sql);
    this.#rhythm = new Rhythm(ctx.storage.sql);
  }

  /** What is wrong at this moment; null: that cannot be told. */
  async look(): Promise<{ checkedMs: number; findings: Finding[] } | null> {
    const facts = await gather(this.env, { samples: this.#samples, rhythm: this.#rhythm }, platform);
    return { checkedMs: facts.nowMs, findings: findingsOf(facts) };
  }

  /** One look. */
  async check(): Promise<void> {
    await this.look();
  }
}

/** The one watch of the account. */
export function watch(namespace: DurableObjectNamespace<Watch>): DurableObjectStub<Watch> {
  return namespace.getByName("watch");
}
