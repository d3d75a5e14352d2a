import type { Context } from "hono";
import type { Caller, Permission } from "../access/roles.ts";
import type { Config } from "../config.ts";
import { CODE, oneError } from "../errors.ts";
import type { Platform } from "../platform.ts";
import { DATASETS, type Dataset } from "../record/fields.ts";

export interface AppEnv {
  Bindings: Env;
  /** Who calls; known before any handler runs. */
  Variables: { caller: Caller };
}

export type AppContext = Context<AppEnv>;

/** One method of one route: who may call it, and what it does. */
export type Route = {
  permission: Permission;
  /**
   * What it changes, in the words of the audit; null: nothing. A method other than GET that does not say so is noted by its method and path; intake
   * is never noted.
   */
  action?: string | null;
} & (
  | { handle(c: AppContext, config: Config, platform: Platform): Promise<Response> }
  /** Intake: it needs the queue alone, and goes on whatever else of the configuration is malformed. */
  | { take(c: AppContext, platform: Platform): Promise<Response> }
);

/** The methods of one path below that of its group. */
export interface Resource {
  path: string;
  methods: { readonly [method in "GET" | "POST" | "PUT" | "PATCH" | "DELETE"]?: Route };
}

export function isDataset(name: string): name is Dataset {
  return (DATASETS as readonly string[]).includes(name);
}

/** @throws ApiError 404 for a dataset that is not ours. */
export function requireDataset(c: AppContext): string {
  const dataset = c.req.param("dataset") ?? "";
  if (!isDataset(dataset)) throw oneError(404, CODE.noRoute, "no such dataset");
  return dataset;
}
