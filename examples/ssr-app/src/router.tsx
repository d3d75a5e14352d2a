import { createRouter } from "@tanstack/react-router";
import { routeTree } from "./routeTree.gen.ts";
import { Fault, NotFound } from "./ui/notices.tsx";

export function getRouter() {
  return createRouter({
    routeTree,
    scrollRestoration: true,
    // In the browser only: what shows the visitor an error page is caught, and would be reported by nobody.
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
