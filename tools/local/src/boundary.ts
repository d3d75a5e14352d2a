/**
 * What passes between a visitor and a function that runs here. The function's code is foreign, and runs on the developer's own machine: it is not to
 * get what the visitor holds for others, nor to speak to the machinery around it.
 */

/** Headers that prove to somebody who the visitor is. Hosts of one machine share cookies in some browsers, and passwords in all. */
const CREDENTIALS = /^(cookie2?|authorization|proxy-.*|x-auth-.*|cf-access-.*)$/;

/**
 * Those that `wrangler dev` speaks with itself. In an answer they do harm: of a "stack trace" under `MF-Experimental-Error-Stack` it makes an error page
 * with the text of every file that is named there.
 */
const MACHINERY = /^(x-)?mf-/;

/**
 * No cookies come in, so none go out: one with a `Domain` could be for other hosts of this machine. What else an answer may say of an origin (service
 * workers, storage, HSTS) is about the function's own, as each has a host name of its own.
 */
const COOKIES = /^set-cookie2?$/;

/** The request as the function sees it. Redirects are the visitor's to follow. */
export function toFunction(request: Request): Request {
  const passed = new Request(request, { redirect: "manual" });
  for (const name of [...passed.headers.keys()])
    if (CREDENTIALS.test(name) || MACHINERY.test(name)) passed.headers.delete(name);
  return passed;
}

/** The answer as the visitor sees it. */
export function toVisitor(response: Response): Response {
  const answer = new Response(response.body, response);
  for (const name of [...answer.headers.keys()])
    if (COOKIES.test(name) || MACHINERY.test(name)) answer.headers.delete(name);
  return answer;
}

/** The function that a URL asks for: `shop` of `http://shop.localhost:8788/`. null: none. */
export function functionName(url: string): string | null {
  return /^([a-z0-9_-]+)\.localhost$/.exec(new URL(url).hostname)?.[1] ?? null;
}
