import type { Page } from "../page.ts";
import { elsewherePages } from "./aside/elsewhere.tsx";
import { asideListPages } from "./aside/list.tsx";
import { asideOnePages } from "./aside/one.tsx";
import { resendPages } from "./aside/resend.tsx";

/** Messages and objects that could not be processed. */
export const asidePages: readonly Page[] = [...asideListPages, ...resendPages, ...asideOnePages, ...elsewherePages];
