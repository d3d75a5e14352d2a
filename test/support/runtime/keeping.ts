import { env } from "cloudflare:workers";
import { forgetting } from "./forgetting.ts";

/** From here on, in this test, the log keeps what it has taken in for so many hours. */
export function keepHours(hours: number): void {
  Object.assign(env, { LOG_KEEP_HOURS: `${hours}` });
}

forgetting.add(() => {
  Object.assign(env, { LOG_KEEP_HOURS: undefined });
});
