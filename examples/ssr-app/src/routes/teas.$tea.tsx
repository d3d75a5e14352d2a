import { Await, createFileRoute, notFound } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { placeOrder, readReviews, readTea } from "../shop/functions.ts";

export const Route = createFileRoute("/teas/$tea")({
  loader: async ({ params: { tea } }) => {
    const found = await readTea({ data: tea });
    if (found === null) throw notFound();
    // Not awaited: the page is sent without them, and they follow in its stream.
    return { tea: found, reviews: readReviews({ data: tea }) };
  },
  component: TeaPage,
});

function TeaPage() {
  const { tea, reviews } = Route.useLoaderData();
  const [said, say] = useState("");
  return (
    <main>
      <h1>{tea.name}</h1>
      <p>{tea.note ?? "No note yet."}</p>
      <button
        type="button"
        onClick={async () => say((await placeOrder({ data: { tea: tea.id, packets: 1, to: "home" } })) ?? "none")}
      >
        Order
      </button>
      <output>{said}</output>
      <Suspense fallback={<p>Reviews are coming …</p>}>
        <Await promise={reviews}>
          {(all) => (
            <ul>
              {all.map((review) => (
                <li key={review}>{review}</li>
              ))}
            </ul>
          )}
        </Await>
      </Suspense>
    </main>
  );
}
