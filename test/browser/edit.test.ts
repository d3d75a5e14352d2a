import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { jobInto } from "../e2e/shipper.ts";
import { complaints, violations } from "./browser.ts";
import { theStage } from "./shared.ts";

const stage = theStage();

async function created(): Promise<number> {
  const { id } = await stage().shipper.api.createJob(jobInto("edit", { name: "shop" }));
  return id;
}

interface Stored {
  id: number;
  name: string;
  filter: string | null;
}

/** The job as the API returns it. */
const stored = (id: number): Promise<Stored> => stage().shipper.call("GET", `/logship/jobs/${id}`);

/** The accessible name of the focused element, from its labels or text. */
async function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const at = document.activeElement;
    if (at instanceof HTMLInputElement || at instanceof HTMLSelectElement || at instanceof HTMLTextAreaElement)
      return [...(at.labels ?? [])].map((label) => label.textContent).join(" ");
    return at?.textContent ?? "";
  });
}

/** Presses Tab until an element of that name has the focus. @throws if none gets it. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let steps = 0; steps < 120; steps++) {
    if ((await focused(page)).replace(/\s+/g, " ").trim() === name) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${name}`);
}

/** Presses a button that reloads the form, and waits for it. */
async function press(page: Page, name: string, then: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press("Enter");
  await page.getByLabel(then).or(page.getByText(then)).first().waitFor();
}

/** Enters a condition. @param operator typed to select it. */
async function enter(page: Page, number: number, key: string, operator: string, value: string): Promise<void> {
  await tabTo(page, `Field of condition ${number}`);
  await page.keyboard.type(key);
  // Closes the list of keys, which may be open.
  await page.keyboard.press("Escape");
  await tabTo(page, `Operator of condition ${number}`);
  await page.keyboard.type(operator);
  await tabTo(page, `Value of condition ${number}`);
  await page.keyboard.type(value);
}

const buildsByKeyboard = async (page: Page): Promise<void> => {
  const id = await created();
  await page.goto(`/jobs/${id}/edit`);
  await press(page, "Filter Every event", "Add a condition");
  await press(page, "Add a condition", "Field of condition 1");
  await enter(page, 1, "ScriptName", "begins with", "shop");
  await press(page, "Add a group", "Field of condition 2");
  await enter(page, 2, "Event.Response.Status", "is at least", "500");
  await press(page, "Add a condition to group 2", "Field of condition 3");
  await enter(page, 3, "Outcome", "is not (", "ok");
  await tabTo(page, "Save");
  await page.keyboard.press("Enter");
  await page.getByText("records that the new filter does not match are no longer shipped").waitFor();
  await tabTo(page, "Save anyway");
  await page.keyboard.press("Enter");
  await page.getByText("Applies to every event").waitFor();
  const { name, filter } = await stored(id);
  expect(name).toBe("shop");
  expect(JSON.parse(`${filter}`)).toEqual({
    where: {
      and: [
        { key: "ScriptName", operator: "startsWith", value: "shop" },
        {
          or: [
            { key: "Event.Response.Status", operator: "geq", value: 500 },
            { key: "Outcome", operator: "!eq", value: "ok" },
          ],
        },
      ],
    },
  });
};

it("builds a nested filter by the keyboard alone, and stores it", async () => {
  const page = await stage().signedIn();
  const said = complaints(page);
  await buildsByKeyboard(page);
  expect(said).toEqual([]);
});

it("does so without any script of its own", async () => {
  // Scripts stay enabled: the test evaluates some.
  const page = await stage().signedIn();
  await page.route("**/assets/**", (route) => route.abort());
  await buildsByKeyboard(page);
});

it("gives back what a browser made of a filter that is hard to show", async () => {
  const page = await stage().signedIn();
  const id = await created();
  const where = { and: [{ key: "Event.a\nb", operator: "in", value: ["\r\n", '"', " ", "", "\u202e", "30", 30] }] };
  const filter = JSON.stringify({ where }, null, 2).replaceAll("\n", "\r\n");
  const output_options = {
    batch_prefix: "a\r\n\t\\n",
    record_template: "\r\n{{ .Outcome }}\r\n",
    field_names: ["Logs", "Event"],
  };
  const name = " \n\u202ename\u0000 ";
  await stage().shipper.api.updateJob(id, { filter, output_options, name });
  const before = await stored(id);
  expect(before).toMatchObject({ filter, output_options, name });
  await page.goto(`/jobs/${id}/edit`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("No changes").waitFor();
  await page.getByLabel("Value", { exact: false }).first().press("End");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("heading", { name: "Preview on recent events" }).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("No changes").waitFor();
  expect(await stored(id)).toEqual(before);
});

it("is open to everybody with a fault, and fits on a phone", async () => {
  const page = await stage().signedIn({ viewport: { width: 360, height: 800 } });
  const id = await created();
  let where: object = { key: "Outcome", operator: "in", value: ["x".repeat(200), "b"] };
  for (let level = 0; level < 20; level++) where = { [level % 2 === 0 ? "and" : "or"]: [where] };
  const filter = JSON.stringify({ where });
  await stage().shipper.api.updateJob(id, {
    filter,
    name: "n".repeat(512),
    output_options: { field_names: ["Logs"] },
  });
  await page.goto(`/jobs/${id}/edit`);
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  await page.getByLabel("Max wait").fill("12");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Not saved").waitFor();
  const faults = await violations(page);
  expect(faults.map(({ id: rule, nodes }) => [rule, nodes.map(({ html }) => html)])).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  // A deeply nested condition still has room for its value.
  const box = await page.getByLabel("of condition 1").last().boundingBox();
  expect(box?.width).toBeGreaterThan(120);
});
