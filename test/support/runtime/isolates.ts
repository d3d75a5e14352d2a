/** The apps of the API's harness: each is an isolate, and remembers who called. */
import { createApp } from "../../../src/app.ts";
import type { Platform } from "../../../src/platform.ts";
import { forgetting } from "./forgetting.ts";

let apps = new WeakMap<Platform, ReturnType<typeof createApp>>();

/** The app of a platform in this test. */
export function appOf(platform: Platform): ReturnType<typeof createApp> {
  const app = apps.get(platform) ?? createApp(platform);
  apps.set(platform, app);
  return app;
}

forgetting.add(() => {
  apps = new WeakMap();
});
