import { createRouter } from "@tanstack/react-router";
import { routeTree } from "./routeTree.gen.ts";

export function getRouter() {
  return createRouter({
    routeTree,
    scrollRestoration: true,
    defaultErrorComponent: () => (
      <main>
        <h1>That went wrong</h1>
        <p role="alert">We know of it already.</p>
      </main>
    ),
    defaultNotFoundComponent: () => (
      <main>
        <h1>There is no such page</h1>
      </main>
    ),
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof getRouter>;
  }
}
