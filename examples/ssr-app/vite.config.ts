import { cloudflare } from "@cloudflare/vite-plugin";
import { tanstackStart } from "@tanstack/react-start/plugin/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [
    // First, so that the framework's server code is built for, and runs in, the runtime of edge functions.
    cloudflare({
      viteEnvironment: { name: "ssr" },
      // Where local queues, buckets and durable objects keep their state.
      persistState: process.env.SHOP_STATE === undefined ? true : { path: process.env.SHOP_STATE },
    }),
    tanstackStart({
      // Rendered once, at build time, and served as static files: no function runs for them, so they leave no trace event.
      prerender: {
        enabled: true,
        // about.html, which is served as /about without a redirect.
        autoSubfolderIndex: false,
        filter: ({ path }) => path === "/about",
      },
    }),
    react(),
  ],
});
