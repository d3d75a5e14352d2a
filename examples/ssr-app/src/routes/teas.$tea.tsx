import { Await, CatchBoundary, createFileRoute, notFound } from "@tanstack/react-router";
import { Suspense } from "react";
import { readReviews, readTea } from "../shop/functions.ts";
import { OrderForm } from "../shop/order-form.tsx";
import { Cup } from "../ui/cup.tsx";

export const Route = createFileRoute("/teas/$tea")({
  loader: async ({ params: { tea } }) => {
    const found = await readTea({ data: tea });
    if (found === null) throw notFound();
    // Not awaited: they follow in the page's stream.
    return { tea: found, reviews: readReviews({ data: tea }) };
  },
  head: ({ loaderData }) => {
    if (loaderData === undefined) return {};
    const { name, from, coins } = loaderData.tea;
    return {
      meta: [
        { title: `${name} · Tea shop` },
        { name: "description", content: `${name}, from ${from}: ${coins} coins a packet.` },
      ],
    };
  },
  component: TeaPage,
});

function TeaPage() {
  const { tea, reviews } = Route.useLoaderData();
  return (
    <>
      <div className="tea">
        <Cup colour={tea.colour} />
        <div>
          <h1>{tea.name}</h1>
          <p>
            From {tea.from}. {tea.coins} coins a packet.
          </p>
          <p>{tea.note ?? "No note yet."}</p>
        </div>
      </div>
      <OrderForm key={tea.id} tea={tea} />
      <h2>Reviews</h2>
      <CatchBoundary getResetKey={() => tea.id} errorComponent={NoReviews}>
        <Suspense fallback={<p className="coming">Reviews are coming …</p>}>
          <Await promise={reviews}>
            {(all) => (
              <ul className="reviews">
                {all.map((review) => (
                  <li key={review}>{review}</li>
                ))}
              </ul>
            )}
          </Await>
        </Suspense>
      </CatchBoundary>
    </>
  );
}

function NoReviews() {
  return <p role="alert">The reviews could not be had.</p>;
}
