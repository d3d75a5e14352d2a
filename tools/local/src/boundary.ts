/**
 * What passes between a visitor and a function that runs here. The function's code is foreign and
 * runs on the developer's machine: it must not get the visitor's credentials for other servers, nor
 * speak to the tools around it.
 */

/** Credentials. Hosts of one machine share cookies in some browsers, and passwords in all. */
const CREDENTIALS = /^(cookie2?|authorization|proxy-.*|x-auth-.*|cf-access-.*)$/;

/**
 * Headers that `wrangler dev` uses internally. In an answer they do harm: from a stack trace in
 * `MF-Experimental-Error-Stack` it makes an error page that shows every file named there.
 */
const MACHINERY = /^(x-)?mf-/;

/**
 * No cookies come in, so none go out: one with a `Domain` could reach other hosts of this machine.
 * Service workers, storage and HSTS are confined to the function's own host name.
 */
const COOKIES = /^set-cookie2?$/;

/** The request as the function sees it. The visitor follows redirects, not the host. */
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

/** The function a URL names: `shop` for `http://shop.localhost:8788/`. null: none. */
export function functionName(url: string): string | null {
  return /^([a-z0-9_-]+)\.localhost$/.exec(new URL(url).hostname)?.[1] ?? null;
}
