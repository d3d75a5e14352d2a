/**
 * What the vendor's Terraform provider asks, in order, from the first apply to destroy, and a job
 * that was made elsewhere and is imported. test/fixtures/README.md says how it was recorded.
 */
import { expect, it } from "vitest";
import recorded from "../../fixtures/terraform-provider.json";
import { destinationConf } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call, freshBucket, type Job } from "./harness.ts";

type Body = { readonly [key: string]: unknown };
interface Recorded {
  step: string;
  method: string;
  path: string;
  body?: Body;
  status: number;
  result: Body;
}

const REQUESTS = recorded.requests as unknown as readonly Recorded[];

/** Keys that no request declares. */
const SERVER_KEYS = ["id", "time_created", "time_modified", "last_complete", "last_error", "filename", "guarantee"];

/** What a tool compares with its state: what it does not declare may change. */
function shown(result: Body): Body {
  return Object.fromEntries(Object.entries(result).filter(([key]) => !SERVER_KEYS.includes(key)));
}

it("answers each request of the provider as it answered when every plan was empty, and reads what was last sent", async () => {
  setClock(NOON);
  const { name } = freshBucket();
  const places = { "{destination}": destinationConf(name, "tf/{DATE}"), "{elsewhere}": destinationConf(name, "tf") };
  const filled = (body: Body): Body =>
    JSON.parse(
      JSON.stringify(body, (_, value: unknown) =>
        typeof value === "string" ? (Reflect.get(places, value) ?? value) : value,
      ),
    ) as Body;
  let id = 0;
  let declared: Body = {};
  const steps: string[] = [];
  for (const { step, method, path, body, status, result } of REQUESTS) {
    const sent = body === undefined ? undefined : filled(body);
    const where = `${step}: ${method} ${path}`;
    const answer = await call<Job>(method, path.replace("{id}", `${id}`), sent);
    expect([where, answer.status, shown(answer.body.result)]).toEqual([where, status, shown(filled(result))]);
    steps.push(where);
    if (path.endsWith("/ownership")) continue;
    if (method === "POST") {
      ({ id } = answer.body.result);
      declared = {};
    }
    if (method === "DELETE") continue;
    const { ownership_challenge: _challenge, ...fields } = sent ?? {};
    // null stands for the default.
    declared = { ...declared, ...fields, ...(fields.kind === null && { kind: "" }) };
    // A job of another client has the names that this one's path uses, whatever it was made with.
    if (path.startsWith("/logpush/")) expect([where, answer.body.result]).toMatchObject([where, declared]);
  }
  expect(new Set(steps).size).toBeGreaterThan(12);
  expect((await call<Job[]>("GET", "/logpush/jobs")).body.result).toEqual([]);
});
