import { createFileRoute } from "@tanstack/react-router";
import { readAddress } from "../shop/functions.ts";

export const Route = createFileRoute("/about")({
  loader: () => readAddress(),
  head: () => ({
    meta: [{ title: "About · Tea shop" }, { name: "description", content: "Where the tea shop is." }],
  }),
  component: About,
});

function About() {
  return (
    <>
      <h1>About</h1>
      <p>This page was rendered when the shop was built, with an address that only the build knows.</p>
      <address>{Route.useLoaderData()}</address>
      <p>It is served as a static file. No function runs for it, so it leaves no trace event.</p>
    </>
  );
}
