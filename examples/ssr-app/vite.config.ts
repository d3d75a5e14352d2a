import { cloudflare } from "@cloudflare/vite-plugin";
import { tanstackStart } from "@tanstack/react-start/plugin/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [
    // First, so that the framework's server code is built for the Workers runtime.
    cloudflare({
      viteEnvironment: { name: "ssr" },
      // State of local queues, buckets and Durable Objects.
      persistState: process.env.SHOP_STATE === undefined ? true : { path: process.env.SHOP_STATE },
    }),
    tanstackStart({
      // Rendered at build time and served as static files: no Worker runs, so there is no trace
      // event.
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
