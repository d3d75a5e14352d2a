import { createFileRoute } from "@tanstack/react-router";

const ROWS = 200;
/** Between two rows, in ms. */
const ROW_MS = 100;

/** A long answer, row by row: shows the record of a visitor who leaves before its end. */
export const Route = createFileRoute("/api/catalogue")({
  server: {
    handlers: {
      GET: () => {
        let row = 0;
        console.log("printing the catalogue");
        const rows = new ReadableStream<Uint8Array>({
          async pull(controller) {
            if (row === ROWS) return controller.close();
            if (row > 0) await new Promise((resolve) => setTimeout(resolve, ROW_MS));
            controller.enqueue(new TextEncoder().encode(`tea ${++row}\n`));
          },
        });
        return new Response(rows, { headers: { "Content-Type": "text/plain" } });
      },
    },
  },
});
