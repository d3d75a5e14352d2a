import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Base URL of the scripted S3 endpoint for tests in the Workers runtime. */
    s3Url: string;
    /** Whether every row of the fault matrix runs. */
    wholeMatrix: boolean;
    soak: import("./soak-settings.ts").SoakSettings;
  }
}
