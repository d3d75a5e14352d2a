import * as z from "zod";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";

const AccountsPage = paging(1_000);

const Account = z.object({ id: z.string(), name: z.string().describe("The same.") });

export const VERIFY_TOKEN = {
  summary: "Check credentials",
  description: "Any credentials that this service knows; others are a 401.",
  result: z.object({
    id: z.string().describe("Id of the token or member; `admin` for the admin token."),
    status: z.literal("active"),
  }),
} satisfies RouteDoc;

export const VERIFY_ACCOUNT_TOKEN = {
  ...VERIFY_TOKEN,
  summary: "Check credentials for the account",
} satisfies RouteDoc;

export const READ_USER = {
  summary: "Read the caller",
  result: z.object({ id: z.string(), email: z.string().nullable().describe("null: a token, which has none.") }),
} satisfies RouteDoc;

export const LIST_ACCOUNTS = {
  summary: "List the accounts",
  description: "The one account of this deployment.",
  query: AccountsPage,
  result: Account,
  list: true,
} satisfies RouteDoc;

export const LIST_MEMBERSHIPS = {
  summary: "List the caller's memberships",
  description: "The one account of this deployment.",
  query: AccountsPage,
  result: z.object({ id: z.string(), status: z.literal("accepted"), account: Account }),
  list: true,
} satisfies RouteDoc;
