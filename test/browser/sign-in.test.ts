import { expect, it } from "vitest";
import { complaints } from "./browser.ts";
import { theStage } from "./shared.ts";

const stage = theStage();

it("signs in, and out again", async () => {
  const page = await stage().signedIn();
  const said = complaints(page);
  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out").waitFor();
  await page.goto("/");
  await page.waitForURL("**/sign-in");
  expect(said).toEqual([]);
});

it("a reload makes no second one of what is shown once", async () => {
  const page = await stage().signedIn();
  await page.goto("/access/tokens");
  await page.getByLabel("Name", { exact: true }).fill("made once");
  await page.getByRole("checkbox", { name: /logs:read/ }).check();
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText(/^logship_token_[\w-]{43}/).waitFor();
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Access" }).waitFor();
  expect(await page.getByRole("row", { name: /made once/ }).count()).toBe(1);
});
