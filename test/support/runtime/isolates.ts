/** The apps of the API's harness: each is an isolate, and remembers who called. */

import type { Platform } from "../../../src/base/platform.ts";
import { createApp } from "../../../src/web/app.ts";
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
