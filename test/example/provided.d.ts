import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    example: import("./global-setup.ts").Example;
  }
}
