import { afterAll, beforeAll, expect, it } from "vitest";
import { complaints, Stage } from "./browser.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.set();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

it("signs in, and out again", async () => {
  const page = await stage.signedIn();
  const said = complaints(page);
  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out").waitFor();
  await page.goto("/");
  await page.waitForURL("**/sign-in");
  expect(said).toEqual([]);
});
