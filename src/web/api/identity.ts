/** Who the caller is: what clients ask before they do anything else. */

import * as z from "zod";
import { CODE } from "../../base/errors.ts";
import type { Config } from "../../config.ts";
import { listed, success } from "./envelope.ts";
import { passOn } from "./platform-pass.ts";
import { pageOf, paging, queryOf } from "./query.ts";
import type { AppContext, Handler, Resources, RouteDoc } from "./route.ts";

const AccountsPage = paging(1_000);

const Account = z.object({ id: z.string(), name: z.string().describe("The same.") });

const VERIFY_TOKEN = {
  summary: "Check credentials",
  description: "Any credentials that this service knows; others are a 401.",
  result: z.object({
    id: z.string().describe("Id of the token or member; `admin` for the admin token."),
    status: z.literal("active"),
  }),
} satisfies RouteDoc;

const VERIFY_ACCOUNT_TOKEN = {
  ...VERIFY_TOKEN,
  summary: "Check credentials for the account",
} satisfies RouteDoc;

const READ_USER = {
  summary: "Read the caller",
  result: z.object({ id: z.string(), email: z.string().nullable().describe("null: a token, which has none.") }),
} satisfies RouteDoc;

const LIST_ACCOUNTS = {
  summary: "List the accounts",
  description: "The one account of this deployment.",
  query: AccountsPage,
  result: Account,
  list: true,
} satisfies RouteDoc;

const LIST_MEMBERSHIPS = {
  summary: "List the caller's memberships",
  description: "The one account of this deployment.",
  query: AccountsPage,
  result: z.object({ id: z.string(), status: z.literal("accepted"), account: Account }),
  list: true,
} satisfies RouteDoc;

/** The vendor's own words, which its page tells users to look for. */
const ACTIVE = { code: CODE.auth, message: "This API Token is valid and active" };

/** Any known caller may ask. */
const read = (doc: RouteDoc, handle: Handler) => ({ GET: { permission: null, doc, handle, foreign: passOn } });

async function verify(c: AppContext): Promise<Response> {
  return success(c, { id: c.var.caller.id, status: "active" }, { messages: [ACTIVE] });
}

async function readUser(c: AppContext): Promise<Response> {
  const { id, kind, name } = c.var.caller;
  return success(c, { id, email: kind === "member" ? name : null });
}

const accountOf = ({ accountId }: Config) => ({ id: accountId, name: accountId });

/** Clients of the vendor's ask for page after page, until one is empty. */
function listedPages(
  c: AppContext,
  doc: typeof LIST_ACCOUNTS | typeof LIST_MEMBERSHIPS,
  items: readonly object[],
): Response {
  const { shown, info } = pageOf(queryOf(c, doc), items);
  return listed(c, shown, info);
}

/** Below an account's tokens. */
export const verifyRoute: Resources = { "/verify": read(VERIFY_ACCOUNT_TOKEN, verify) };

/** Below {@link API_PATH}. */
export const identityRoutes: Resources = {
  "/user": read(READ_USER, readUser),
  "/user/tokens/verify": read(VERIFY_TOKEN, verify),
  "/accounts": read(LIST_ACCOUNTS, async (c, config) => listedPages(c, LIST_ACCOUNTS, [accountOf(config)])),
  "/memberships": read(LIST_MEMBERSHIPS, async (c, config) => {
    const account = accountOf(config);
    return listedPages(c, LIST_MEMBERSHIPS, [{ id: c.var.caller.id, status: "accepted", account }]);
  }),
};
