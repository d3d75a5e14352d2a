import { createRouter } from "@tanstack/react-router";
import { routeTree } from "./routeTree.gen.ts";
import { Fault, NotFound } from "./ui/notices.tsx";

export function getRouter() {
  const router = createRouter({
    routeTree,
    scrollRestoration: true,
    // In the browser only. What a loader threw, the server has reported; what a component threw while it was rendered, nobody has.
    defaultOnCatch: (error) => {
      if (!router.state.matches.some((match) => match.error === error)) reportError(error);
    },
    defaultErrorComponent: Fault,
    defaultNotFoundComponent: NotFound,
  });
  return router;
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof getRouter>;
  }
}
