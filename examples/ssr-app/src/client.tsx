/** The framework's default client entry, with one difference: what goes wrong in the browser is reported, from before the page comes to life. */
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
