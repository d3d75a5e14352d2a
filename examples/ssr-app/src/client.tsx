/** The framework's default client entry, except that errors are reported, even before hydration. */
import { StartClient } from "@tanstack/react-start/client";
import { StrictMode, startTransition } from "react";
import { hydrateRoot } from "react-dom/client";
import { reportErrors } from "./browser/report-errors.ts";

reportErrors(window);
startTransition(() => {
  hydrateRoot(
    document,
    <StrictMode>
      <StartClient />
    </StrictMode>,
  );
});
