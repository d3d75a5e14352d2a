import { describe, expect, it } from "vitest";
import { functionName, toFunction, toVisitor } from "../../../tools/local/src/boundary.ts";

const namesOf = (headers: Headers): string[] => [...headers.keys()].sort();

describe("what a function gets of a request", () => {
  it("is all of it but what its visitor holds for others, and what the machinery speaks", async () => {
    const request = new Request("http://shop.localhost:8788/cart?item=tea", {
      method: "POST",
      headers: {
        Accept: "text/html",
        "Content-Type": "text/plain",
        "User-Agent": "a browser",
        "X-Authority": "kept",
        "MFA-Code": "kept",
        COOKIE: "session=secret",
        Authorization: "Bearer secret",
        "Proxy-Authorization": "Basic secret",
        "X-Auth-Key": "secret",
        "X-Auth-Email": "ada@example.com",
        "X-Auth-User-Service-Key": "secret",
        "CF-Access-Jwt-Assertion": "secret",
        "CF-Access-Client-Secret": "secret",
        "MF-Route-Override": "other",
      },
      body: "two",
    });
    const passed = toFunction(request);
    expect(namesOf(passed.headers)).toEqual(["accept", "content-type", "mfa-code", "user-agent", "x-authority"]);
    expect([passed.url, passed.method, passed.redirect]).toEqual([request.url, "POST", "manual"]);
    expect(await passed.text()).toBe("two");
  });
});

describe("what a visitor gets of an answer", () => {
  it("is all of it but cookies, and what the machinery would act upon", async () => {
    const headers = new Headers({
      "Content-Type": "text/html",
      "MF-Experimental-Error-Stack": "true",
      "X-Mf-Additional-Response-Log": "a line",
      "Service-Worker-Allowed": "/",
      Location: "/elsewhere",
    });
    headers.append("Set-Cookie", "a=1; Domain=localhost");
    headers.append("Set-Cookie", "b=2");
    const answer = toVisitor(new Response("<p>", { status: 500, statusText: "Out of tea", headers }));
    expect(namesOf(answer.headers)).toEqual(["content-type", "location", "service-worker-allowed"]);
    expect([answer.status, answer.statusText, await answer.text()]).toEqual([500, "Out of tea", "<p>"]);
  });

  it.for([204, 304])("can be one without a body: %i", (status) => {
    expect(toVisitor(new Response(null, { status })).status).toBe(status);
  });
});

describe("the function that a host name asks for", () => {
  it.for([
    ["http://shop.localhost:8788/", "shop"],
    ["http://SHOP.localhost/path", "shop"],
    ["http://my-shop_2.localhost:1/?a", "my-shop_2"],
    ["http://localhost:8788/", null],
    ["http://127.0.0.1:8788/", null],
    ["http://[::1]:8788/", null],
    ["http://a.shop.localhost/", null],
    ["http://shop.localhost.example/", null],
    ["http://shop.localhost./", null],
    ["http://shoplocalhost/", null],
    ["http://shop.example/", null],
  ] as const)("%s: %j", ([url, name]) => {
    expect(functionName(url)).toBe(name);
  });
});
