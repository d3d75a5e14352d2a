import { createFileRoute } from "@tanstack/react-router";

/** A route's own handler that throws. */
export const Route = createFileRoute("/api/trouble")({
  server: {
    handlers: {
      GET: () => {
        throw new Error("the route gave up");
      },
    },
  },
});
