import type { Page } from "../page.ts";
import { asideListPages } from "./aside/list.tsx";
import { asideOnePages } from "./aside/one.tsx";
import { resendPages } from "./aside/resend.tsx";

/** What could not go its way, until somebody decides. */
export const asidePages: readonly Page[] = [...asideListPages, ...resendPages, ...asideOnePages];
