import { exports } from "cloudflare:workers";
import { createFileRoute } from "@tanstack/react-router";

/** A price from the RPC entrypoint, called as another Worker would. */
export const Route = createFileRoute("/api/prices/$tea")({
  server: {
    handlers: {
      GET: async ({ params: { tea }, request }) => {
        const packets = Number(new URL(request.url).searchParams.get("packets") ?? 1);
        return Response.json({ tea, packets, coins: await exports.Prices.quote(tea, packets) });
      },
    },
  },
});
