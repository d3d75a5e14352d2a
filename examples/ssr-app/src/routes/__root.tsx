import { createRootRoute, HeadContent, Link, Outlet, Scripts, useRouter, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import shopCss from "../ui/shop.css?url";

export const Route = createRootRoute({
  head: () => ({
    meta: [
      { charSet: "utf-8" },
      { name: "viewport", content: "width=device-width, initial-scale=1" },
      { name: "color-scheme", content: "light dark" },
      { title: "Tea shop" },
      { name: "description", content: "A small shop for good tea." },
    ],
    links: [
      { rel: "stylesheet", href: shopCss },
      { rel: "icon", href: "/favicon.svg", type: "image/svg+xml" },
    ],
  }),
  shellComponent: Document,
  component: Layout,
});

function Document({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <head>
        <HeadContent />
        <noscript>
          {/* A script puts later parts of the stream in place; without it they show at the end. */}
          <style>
            {
              '[hidden][id^="S:"] { display: block !important; max-width: 64rem; margin: auto; padding: 1rem } .coming { display: none }'
            }
          </style>
        </noscript>
      </head>
      <body>
        {children}
        <Scripts />
      </body>
    </html>
  );
}

function Layout() {
  const main = useRef<HTMLElement>(null);
  const router = useRouter();
  const isLoading = useRouterState({ select: (state) => state.isLoading });
  // Screen readers announce a page that is changed by script only if the focus moves there.
  useEffect(
    () =>
      router.subscribe("onRendered", ({ fromLocation, pathChanged }) => {
        if (fromLocation !== undefined && pathChanged) main.current?.focus({ preventScroll: true });
      }),
    [router],
  );
  return (
    <>
      <a className="skip" href="#content">
        To the content
      </a>
      <header>
        <nav aria-label="Shop">
          <Link to="/" activeOptions={{ exact: true }}>
            Teas
          </Link>
          <Link to="/about">About</Link>
          <Link to="/kinds">Every kind of trace event</Link>
        </nav>
      </header>
      <main id="content" ref={main} tabIndex={-1} aria-busy={isLoading}>
        <Outlet />
      </main>
      <footer>
        <p>A shop that sells nothing: what happens in it becomes trace events, and those are shipped.</p>
      </footer>
    </>
  );
}
