import { createRouter } from "@tanstack/react-router";
import { routeTree } from "./routeTree.gen.ts";
import { Fault, NotFound } from "./ui/notices.tsx";

export function getRouter() {
  return createRouter({
    routeTree,
    scrollRestoration: true,
    // In the browser only: an error that shows an error page is caught, and would not be reported.
    defaultOnCatch: (error) => reportError(error),
    defaultErrorComponent: Fault,
    defaultNotFoundComponent: NotFound,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof getRouter>;
  }
}
