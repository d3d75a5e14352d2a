import { Await, createFileRoute, notFound } from "@tanstack/react-router";
import { Suspense } from "react";
import { fail, failLate } from "../shop/functions.ts";

/** Each way in which a page may fail, and what the framework then does. */
const KINDS = ["loader", "function", "component", "late"];

export const Route = createFileRoute("/trouble/$kind")({
  loader: async ({ params: { kind } }): Promise<{ kind: string; late?: Promise<string> }> => {
    if (!KINDS.includes(kind)) throw notFound();
    if (kind === "loader") throw new Error("the loader gave up");
    if (kind === "function") await fail();
    return kind === "late" ? { kind, late: failLate() } : { kind };
  },
  component: Trouble,
});

function Trouble() {
  const { kind, late } = Route.useLoaderData();
  if (kind === "component") throw new Error("the component gave up");
  return (
    <>
      <h1>{kind}</h1>
      {late && (
        <Suspense fallback={<p className="coming">It is coming …</p>}>
          <Await promise={late}>{(text) => <p>{text}</p>}</Await>
        </Suspense>
      )}
    </>
  );
}
