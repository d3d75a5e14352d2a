/** Checks every answer of a test against the OpenAPI document. */
import { expect } from "vitest";
import * as z from "zod";
import { ACCOUNT_PATH, API_PATH, type Resources, type Route } from "../../../src/web/api/route.ts";
import { GROUPS, IDENTITY } from "../../../src/web/app.ts";
import { failuresOf } from "../../../src/web/openapi/failures.ts";

interface Documented {
  path: string;
  pattern: RegExp;
  methods: { readonly [method: string]: Route };
}

const documented = (path: string, methods: Resources[string]): Documented => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`),
  methods: methods as { readonly [method: string]: Route },
});

const ROUTES: readonly Documented[] = [
  ...GROUPS.flatMap(({ names, resources }) =>
    names.flatMap((name) =>
      Object.entries(resources).map(([path, methods]) => documented(ACCOUNT_PATH + name + path, methods)),
    ),
  ),
  ...Object.entries(IDENTITY).map(([path, methods]) => documented(API_PATH + path, methods)),
];

const ResultInfo = z.object({
  count: z.int().min(0),
  page: z.int().min(1),
  per_page: z.int().min(1),
  total_count: z.int().min(0),
});

/** Expects the schema's shape, without undocumented keys. */
function expectShape(schema: z.ZodType, value: unknown, where: string): void {
  const parsed = schema.safeParse(value);
  expect([where, parsed.error?.issues ?? []]).toEqual([where, []]);
  expect([where, value]).toEqual([where, parsed.data]);
}

/** Checks that an answer has a documented status and shape. */
export function expectDocumented(
  method: string,
  url: string,
  { status, body }: { status: number; body: { result?: unknown; result_info?: unknown } },
): void {
  const { pathname } = new URL(url);
  const found = ROUTES.find(({ pattern }) => pattern.test(pathname));
  const route = found?.methods[method === "HEAD" ? "GET" : method];
  if (found === undefined || route === undefined) return;
  const { doc } = route;
  const where = `${method} ${found.path} ${status}`;
  if (status >= 400) {
    expect([where, failuresOf(found.path, route)]).toEqual([where, expect.arrayContaining([status])]);
    return;
  }
  expect([where, status]).toEqual([where, doc.status ?? 200]);
  expectShape(doc.list === undefined ? doc.result : z.array(doc.result), body.result, where);
  if (doc.list === undefined) expect([where, "result_info" in body]).toEqual([where, false]);
  else expectShape(ResultInfo.extend(doc.list instanceof z.ZodObject ? doc.list.shape : {}), body.result_info, where);
}
