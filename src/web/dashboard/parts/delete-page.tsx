import type { Permission } from "../../../state/access/roles.ts";
import { formPage, type Page, type PageContext, pathOf, seeOther, type View } from "../page.ts";
import { Form, Submit } from "./form.tsx";

/** What a page says before something is deleted. */
export interface Question extends Omit<View, "status" | "scripts"> {
  /** Where to, if it is not to be. */
  back: string;
  /** Of the button; by default the title. */
  label?: string;
}

/**
 * A page that asks whether something is to be deleted, and deletes it.
 * @param routeOf its route of the API. @param done where to, once it is gone.
 */
export function deletePage(
  path: string,
  permission: Permission,
  ask: (page: PageContext) => Promise<Question>,
  routeOf: (page: PageContext) => string,
  done: string,
): Page {
  const show = async (page: PageContext): Promise<View> => {
    const { back, label, ...view } = await ask(page);
    const form = (
      <Form viewer={page.viewer} action={pathOf(page)}>
        <Submit label={label ?? view.title} back={back} kind="danger" />
      </Form>
    );
    return { ...view, parts: [...view.parts, form] };
  };
  return formPage(path, permission, show, async (page) => {
    await page.api.change("DELETE", routeOf(page));
    return seeOther(done);
  });
}
