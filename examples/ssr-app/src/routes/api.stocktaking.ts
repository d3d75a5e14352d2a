import { createFileRoute } from "@tanstack/react-router";

const SHELVES = 3_000;

/** Logs more than a trace event can hold (256 KB): the platform cuts it, the shipper once more, and both say so. */
export const Route = createFileRoute("/api/stocktaking")({
  server: {
    handlers: {
      GET: () => {
        for (let shelf = 1; shelf <= SHELVES; shelf++) console.debug(`shelf ${shelf}: ${"tea, ".repeat(20)}and dust`);
        return new Response(`${SHELVES} shelves\n`);
      },
    },
  },
});
