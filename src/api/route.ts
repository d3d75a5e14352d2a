import type { Context } from "hono";
import type * as z from "zod";
import type { Caller, Permission } from "../access/roles.ts";
import type { Config } from "../config.ts";
import { CODE, oneError } from "../errors.ts";
import type { Platform } from "../platform.ts";
import { DATASETS, type Dataset } from "../record/fields.ts";

export interface AppEnv {
  Bindings: Env;
  Variables: {
    /** Who calls; known before any handler runs. */
    caller: Caller;
    /** The request's number, ours. */
    requestId: string;
    /** Codes of the errors that it was answered, each once. */
    codes?: readonly number[];
    /** The platform has done what a caller it knows asked for: what follows from that here is a change of ours. */
    accepted?: true;
  };
}

export type AppContext = Context<AppEnv>;

/** What the API's own description says of a route. The schemas are those that check the request, and that its answers are tested against. */
export interface RouteDoc {
  /** One line, in the imperative, without a full stop. */
  summary: string;
  /** What a caller has to know beyond it, in Markdown. */
  description?: string;
  /** Parameters of the query; each of them is a text there. */
  query?: z.ZodObject;
  /** Headers beside those of authentication and of the body's type. */
  headers?: z.ZodObject;
  /** The body: JSON of this shape, or what each media type holds. */
  body?: z.ZodType | { readonly [mediaType: string]: z.ZodType };
  /** `result` of the envelope; of a list, one of its items. */
  result: z.ZodType;
  /** It answers with a list, which says in `result_info` how many there are, and this. */
  list?: true | z.ZodObject;
  /** Media types of files that it answers with instead, where the query asks for one. */
  files?: readonly string[];
  /** Of an answer that is no failure; 200 if it says nothing. */
  status?: 200 | 201 | 202;
  /** Failures beside those that follow from what a route takes: openapi/failures.ts. */
  errors?: readonly (409 | 429)[];
  /** Requests that are accepted as they stand here, by a service that has the jobs and functions which they name. */
  examples?: readonly RouteExample[];
}

export interface RouteExample {
  /** In a few words. */
  name: string;
  /** As the query says; none if it says nothing. */
  query?: { readonly [name: string]: string };
  /** JSON, or the text of a body of the media type. */
  body?: unknown;
  /** `application/json` if it says nothing. */
  mediaType?: string;
  /** Instead of a body: the parts of a form. */
  form?: readonly FormPart[];
}

/** A part of a form, by its name; one with a filename is a file. */
export interface FormPart {
  name: string;
  text: string;
  mediaType: string;
  filename?: string;
}

export type Handler = (c: AppContext, config: Config, platform: Platform) => Promise<Response>;

/** One method of one route: who may call it, and what it does. */
export type Route = {
  permission: Permission;
  doc: RouteDoc;
  /**
   * What it changes, in the words of the audit; null: nothing. A method other than GET that does not say so is noted by its method and path; intake
   * is never noted.
   */
  action?: string | null;
  /** For callers with a bearer that is not ours, where there is a platform to judge it: they get here instead, and nowhere else. */
  foreign?: Handler;
} & (
  | { handle: Handler }
  /** Intake: it needs the queue alone, and goes on whatever else of the configuration is malformed. */
  | { take(c: AppContext, platform: Platform): Promise<Response> }
);

/** The methods of one path below that of its group. */
export interface Resource {
  path: string;
  methods: { readonly [method in "GET" | "POST" | "PUT" | "PATCH" | "DELETE"]?: Route };
}

/** What every resource is below. */
export const ACCOUNT_PATH = "/client/v4/accounts/:account_id";

/** Resources below one path, under all of its names: the first is ours, the second, if the vendor has another one, the vendor's. */
export interface ResourceGroup {
  names: readonly [ours: string, vendors?: string];
  resources: readonly Resource[];
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
