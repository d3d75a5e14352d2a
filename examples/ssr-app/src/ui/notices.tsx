import { Link, useRouter } from "@tanstack/react-router";

/** Replaces a page that cannot be shown. The error itself is not shown. */
export function Fault() {
  const router = useRouter();
  return (
    <>
      <h1>That went wrong</h1>
      <p role="alert">We know of it already.</p>
      <p>
        <button type="button" onClick={() => router.invalidate()}>
          Try again
        </button>
      </p>
    </>
  );
}

export function NotFound() {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        But there are <Link to="/">teas</Link>.
      </p>
    </>
  );
}
