import { createFileRoute, Link } from "@tanstack/react-router";
import { listTeas } from "../shop/functions.ts";
import { Cup } from "../ui/cup.tsx";

export const Route = createFileRoute("/")({
  loader: () => listTeas(),
  head: () => ({
    meta: [{ title: "Teas · Tea shop" }, { name: "description", content: "Four teas, by the packet." }],
  }),
  component: Home,
});

function Home() {
  return (
    <>
      <h1>Teas</h1>
      <ul className="teas">
        {Route.useLoaderData().map(({ id, name, from, coins, colour }) => (
          <li key={id}>
            <Cup colour={colour} />
            <Link to="/teas/$tea" params={{ tea: id }}>
              {name}
            </Link>
            <span>{from}</span>
            <span>{coins} coins a packet</span>
          </li>
        ))}
      </ul>
    </>
  );
}
