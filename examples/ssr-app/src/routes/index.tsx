import { createFileRoute, Link } from "@tanstack/react-router";
import { listTeas } from "../shop/functions.ts";

export const Route = createFileRoute("/")({ loader: () => listTeas(), component: Home });

function Home() {
  return (
    <main>
      <h1>Teas</h1>
      <ul>
        {Route.useLoaderData().map(({ id, name }) => (
          <li key={id}>
            <Link to="/teas/$tea" params={{ tea: id }}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </main>
  );
}
