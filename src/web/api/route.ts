import type { Context } from "hono";
import type * as z from "zod";
import { notFound } from "../../base/errors.ts";
import type { Memory } from "../../base/memory.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { DATASETS, type Dataset } from "../../formats/record/fields.ts";
import type { Viewers } from "../../ship/intake/viewers.ts";
import type { PathName } from "../../ship/job/job-schema.ts";
import type { Caller, Permission } from "../../state/access/roles.ts";

export interface AppEnv {
  Bindings: Env;
  Variables: {
    /** Set before any handler runs. */
    caller: Caller;
    /** Our id of the request. */
    requestId: string;
    /** Codes of the errors in the answer, each once. */
    codes?: readonly number[];
    /** The platform has made the change that one of its callers asked for; ours follows. */
    accepted?: true;
    /** The platform knows the bearer. */
    isKnownBearer?: true;
    /** The request succeeded, and changed nothing. */
    unchanged?: true;
  };
}

export type AppContext = Context<AppEnv>;

/**
 * A route's part of the OpenAPI document. The schemas also check the request; tests check answers
 * against them.
 */
export interface RouteDoc {
  /** One line, in the imperative, without a full stop. */
  summary: string;
  /** More, in Markdown. */
  description?: string;
  /** Query parameters; each is read from a string. */
  query?: z.ZodObject;
  /** Headers besides those of authentication and content type. */
  headers?: z.ZodObject;
  /** The body: JSON of this shape, or a schema per media type. */
  body?: z.ZodType | { readonly [mediaType: string]: z.ZodType };
  /** No body is as `{}`. */
  bodyIsOptional?: true;
  /** `result` of the envelope; for a list, one item. */
  result: z.ZodType;
  /** The answer is a list; an object adds keys to `result_info`. */
  list?: true | z.ZodObject;
  /** Media types of files that it answers with if the query asks for one. */
  files?: readonly string[];
  /** Status of success; default 200. */
  status?: 200 | 201 | 202;
  /** Failures besides those that openapi/failures.ts derives. */
  errors?: readonly 409[];
  /**
   * Requests that are valid as they stand, if the jobs and functions they name exist; default: a
   * bare one.
   */
  examples?: readonly RouteExample[];
}

export interface RouteExample {
  name: string;
  query?: { readonly [name: string]: string };
  /** JSON, or the text of a body of {@link mediaType}. */
  body?: unknown;
  /** Default `application/json`. */
  mediaType?: string;
  /** The parts of a form, instead of a body. */
  form?: readonly FormPart[];
}

/** A part of a form; with a filename, a file. */
export interface FormPart {
  name: string;
  text: string;
  mediaType: string;
  filename?: string;
}

export type Handler = (c: AppContext, config: Config, platform: Platform) => Promise<Response>;

/** One method of one path. */
export type Route = {
  /** null: any known caller. */
  permission: Permission | null;
  /** Also enough. */
  or?: Permission;
  doc: RouteDoc;
  /**
   * What it changes, as the audit names it; null: nothing. Without it, methods other than GET are
   * audited by method and path. Intake is never audited.
   */
  action?: string | null;
  /** Handles callers whose bearer the platform judges, instead of `handle`. */
  foreign?: Handler;
  /** How long it may take, in ms; default ANSWER_MS. */
  answerMs?: number;
} & (
  | { handle: Handler }
  /** Intake: needs only the queue, and works even if the configuration is malformed. */
  | { take(c: AppContext, platform: Platform, memory: Memory, viewers: Viewers): Promise<Response> }
);

/** The methods of each path, which is relative to its group. */
export interface Resources {
  readonly [path: string]: { readonly [method in "GET" | "POST" | "PUT" | "PATCH" | "DELETE"]?: Route };
}

/** The prefix of everything that the API has. */
export const API_PATH = "/client/v4";

/** The prefix of every resource of the account. */
export const ACCOUNT_PATH = `${API_PATH}/accounts/:account_id`;

/** Resources below one path: its primary name, and the vendor's if that differs. */
export interface ResourceGroup {
  names: readonly [ours: string, vendors?: string];
  resources: Resources;
}

/** The name that a request used for the path of its group. */
export function pathName(c: AppContext): PathName {
  return new URL(c.req.url).pathname.split("/")[5] === "logpush" ? "logpush" : "logship";
}

export function isDataset(name: string): name is Dataset {
  return (DATASETS as readonly string[]).includes(name);
}

/** @throws ApiError 404 for an unknown dataset. */
export function requireDataset(c: AppContext): string {
  const dataset = c.req.param("dataset") ?? "";
  if (!isDataset(dataset)) throw notFound("no such dataset");
  return dataset;
}
