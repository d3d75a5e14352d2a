import { createFileRoute } from "@tanstack/react-router";

const SHELVES = 3_000;

/**
 * Logs more than a trace event holds (256 KB): Cloudflare cuts it, then the shipper; both mark it.
 */
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
