import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Base URL of the scripted S3 endpoint for tests in the Workers runtime. */
    s3Url: string;
    /**
     * Servers behind a certificate that nothing trusts: a silent one, and one with words for plain
     * http; and one without a certificate, whose headers are too large.
     */
    tlsUrls: { silent: string; polite: string; verbose: string };
    /** Whether every row of the fault matrix runs. */
    wholeMatrix: boolean;
    soak: import("./soak-settings.ts").SoakSettings;
  }
}
