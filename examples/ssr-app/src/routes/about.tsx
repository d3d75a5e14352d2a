import { createFileRoute } from "@tanstack/react-router";
import { readAddress } from "../shop/functions.ts";

export const Route = createFileRoute("/about")({ loader: () => readAddress(), component: About });

function About() {
  return (
    <main>
      <h1>About</h1>
      <address>{Route.useLoaderData()}</address>
    </main>
  );
}
