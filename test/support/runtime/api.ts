import { exports } from "cloudflare:workers";
import { inject } from "vitest";
import { AZURE_ACCOUNT, accountSas } from "../azure-sas.ts";
import { ACCESS_KEY, ACCOUNT, ADMIN_TOKEN, SECRET_KEY } from "../constants.ts";

export interface Answer<T = unknown> {
  status: number;
  headers: Headers;
  body: {
    errors: { code: number; message: string; source?: { pointer: string } }[];
    messages: { code: number; message: string }[];
    result: T;
    result_info?: { count: number; page: number; per_page: number; total_count: number };
    success: boolean;
  };
}

/**
 * Calls the worker's HTTP API, below `/client/v4/accounts/test-account`, by default with the
 * admin's token.
 */
export async function api<T = unknown>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<T>> {
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const response = await exports.default.fetch(`http://logship.test/client/v4/accounts/${ACCOUNT}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** A destination in a bucket of the scripted S3 endpoint. */
export function destinationConf(bucket: string, path = "logs/{DATE}"): string {
  const endpoint = encodeURIComponent(inject("s3Url"));
  return `s3://${bucket}/${path}?region=auto&endpoint=${endpoint}&access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`;
}

/** The same, as a bucket of Google. */
export function googleConf(bucket: string, path?: string): string {
  return destinationConf(bucket, path).replace("s3://", "gs://").replace("region=auto&", "");
}

/** A bound bucket of the local R2; it is one for all, so paths keep tests apart. */
export function boundConf(_bucket: string, path = "logs/{DATE}"): string {
  return `binding://TRACES/${path}`;
}

/** The same, as a container of Azure. @param permissions of its SAS. */
export function azureConf(container: string, path = "logs/{DATE}", permissions = "rcw"): string {
  const { host } = new URL(inject("s3Url"));
  return `azure://${host}/${AZURE_ACCOUNT}/${container}/${path}?${accountSas(permissions)}`;
}

/** Creates an enabled job and returns its id. @throws if it is refused. */
export async function createJob(bucket: string, fields: object = {}): Promise<number> {
  const answer = await api<{ id: number }>("POST", "/logship/jobs", {
    destination_conf: destinationConf(bucket),
    enabled: true,
    ...fields,
  });
  if (answer.status !== 201) throw new Error(`creating a job: ${answer.status} ${JSON.stringify(answer.body.errors)}`);
  return answer.body.result.id;
}
