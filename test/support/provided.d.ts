import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Base URL of the scripted S3 endpoint that tests in the runtime send to. */
    s3Url: string;
    /** What the soak is to do. */
    soak: import("./soak-settings.ts").SoakSettings;
  }
}
