import { expect, it } from "vitest";
import { textOf, Visitor } from "./support.ts";

it("lets somebody in who has a token, and out again", async () => {
  const visitor = await Visitor.signedIn();
  const page = await visitor.get("/");
  expect([page.status, textOf(page.html)]).toEqual([200, expect.stringContaining("Signed in as ADMIN_TOKEN")]);
  const out = await visitor.submit("/sign-out");
  expect([out.status, out.location, visitor.cookie]).toEqual([303, "/sign-in?out", null]);
  expect((await visitor.get("/")).location).toBe("/sign-in");
});
