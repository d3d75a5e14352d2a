import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { cloudflare } from "@cloudflare/vite-plugin";
import { tanstackStart } from "@tanstack/react-start/plugin/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** What a build writes the secrets to, in plain text, for `preview`. */
const BUILT_SECRETS = ".dev.vars";

/** Lets no other user of the machine read the secrets of a build. */
const secretsForOwner: Plugin = {
  name: "secrets-for-owner",
  writeBundle: {
    order: "post",
    async handler({ dir }, bundle) {
      if (dir !== undefined && BUILT_SECRETS in bundle) await chmod(join(dir, BUILT_SECRETS), 0o600);
    },
  },
};

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
    secretsForOwner,
  ],
});
