import type { Permission } from "../../../state/access/roles.ts";
import { formPage, type Page, type PageContext, pathOf, seeOther, type View } from "../page.ts";
import { Form, Submit } from "./form.tsx";

/** What a page says before something is lost. */
export interface Question extends Omit<View, "status" | "scripts"> {
  /** Where to, if it is not to be. */
  back: string;
  /** Of the button; by default the title. */
  label?: string;
}

/** Sent with the answer. */
const SURE = "sure";

type Take = NonNullable<Page["post"]>["take"];

/**
 * Asks before a form takes effect, on a page that sends it again.
 * @param again the fields that it sends: others may hold anything. @param ask null: no loss.
 */
export function asking(
  again: readonly string[],
  ask: (page: PageContext, form: URLSearchParams) => Promise<Question | null>,
  take: Take,
): Take {
  return async (page, form) => {
    const question = form.has(SURE) ? null : await ask(page, form);
    const sent = [...form].filter(([name]) => again.includes(name));
    return question === null ? take(page, form) : viewOf(page, question, [...sent, [SURE, "true"]]);
  };
}

function viewOf(page: PageContext, { back, label, ...view }: Question, sent: readonly string[][] = []): View {
  const form = (
    <Form viewer={page.viewer} action={pathOf(page)}>
      {sent.map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <Submit label={label ?? view.title} back={back} kind="danger" />
    </Form>
  );
  return { ...view, parts: [...view.parts, form] };
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
  const show = async (page: PageContext): Promise<View> => viewOf(page, await ask(page));
  return formPage(path, permission, show, async (page) => {
    await page.api.change("DELETE", routeOf(page));
    return seeOther(done);
  });
}
