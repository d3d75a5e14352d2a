/** How `npm run verify` reads a bucket. */
import { AwsClient } from "aws4fetch";
import { describe, expect, it } from "vitest";
import type { Archive } from "../../tools/verify/archive.ts";
import { readS3Settings, type S3Settings, StoreFailure, s3Archive } from "../../tools/verify/s3-archive.ts";
import { rule } from "../support/s3-script.ts";
import { startS3Server } from "../support/s3-server.ts";

const ENV = { AWS_ACCESS_KEY_ID: "test-access-key", AWS_SECRET_ACCESS_KEY: "test-secret-key" };

function settings(url: string, env: Readonly<Record<string, string>>): S3Settings {
  const read = readS3Settings(url, env);
  if ("missing" in read) throw new Error(read.missing);
  return read;
}

const paths = async (archive: Archive): Promise<string[]> => {
  const found: string[] = [];
  for await (const { path } of archive.list()) found.push(path);
  return found;
};

const textOf = async (pieces: AsyncIterable<Uint8Array> | null): Promise<string | null> => {
  if (pieces === null) return null;
  let text = "";
  for await (const piece of pieces) text += Buffer.from(piece).toString("utf8");
  return text;
};

describe("settings", () => {
  it("are those of the AWS CLI", () => {
    expect(settings("s3://bucket/logs/", { ...ENV, AWS_REGION: "eu-west-1", AWS_SESSION_TOKEN: "t" })).toEqual({
      ...{ bucket: "bucket", prefix: "logs", region: "eu-west-1", endpoint: "https://s3.eu-west-1.amazonaws.com" },
      ...{ accessKeyId: "test-access-key", secretAccessKey: "test-secret-key", sessionToken: "t" },
    });
    const r2 = settings("s3://bucket", { ...ENV, AWS_ENDPOINT_URL: "https://account.example.com/" });
    expect(r2).toMatchObject({ prefix: "", region: "auto", endpoint: "https://account.example.com" });
  });

  it.each([
    ["s3://", ENV, "s3://<bucket>"],
    ["s3://bucket", {}, "AWS_ACCESS_KEY_ID"],
    ["s3://bucket", { ...ENV, AWS_ENDPOINT_URL: "ftp://x" }, "AWS_ENDPOINT_URL"],
  ])("%s with %j are refused", (url, env, missing) => {
    expect(readS3Settings(url, env)).toEqual({ missing: expect.stringContaining(missing) });
  });
});

it("reads a store that verifies signatures, whatever is in a key, and waits for one that is busy", async () => {
  const server = await startS3Server({ allowUnsignedPayload: true });
  const url = new URL(server.url);
  const client = new AwsClient({
    accessKeyId: "test-access-key",
    secretAccessKey: "test-secret-key",
    service: "s3",
    region: "auto",
  });
  const keys = ["logs/date=1/a (1)+&'.log.gz", "logs/ä/ü.json", "other/x"];
  for (const key of keys)
    await client.fetch(
      `${url.origin}/bucket/${key
        .split("/")
        .map((each) =>
          encodeURIComponent(each).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
        )
        .join("/")}`,
      { method: "PUT", body: key, headers: { "content-length": `${Buffer.byteLength(key)}` } },
    );
  const waits: number[] = [];
  const pause = async (ms: number) => void waits.push(ms);
  const env = { ...ENV, AWS_ENDPOINT_URL: url.origin };
  const archive = s3Archive(settings("s3://bucket/logs", env), { fetch: (request) => fetch(request), pause });
  expect(await paths(archive)).toEqual(["date=1/a (1)+&'.log.gz", "ä/ü.json"]);
  server.script("bucket", [rule({ do: "answer", status: 503 }, { method: "GET" }, 2)]);
  expect(await textOf(await archive.read("date=1/a (1)+&'.log.gz"))).toBe(keys[0]);
  expect(waits).toEqual([500, 2_000]);
  expect(await archive.read("gone")).toBeNull();
  const wrong = s3Archive(settings("s3://bucket", { ...env, AWS_SECRET_ACCESS_KEY: "wrong" }), {
    fetch: (request) => fetch(request),
    pause,
  });
  await expect(paths(wrong)).rejects.toThrow(new StoreFailure("HTTP 403 SignatureDoesNotMatch"));
  await server.close();
});

it("asks for one page after another, and leaves empty folders out", async () => {
  const asked: string[] = [];
  const pages = [
    "<Key>logs/a&amp;b</Key><Key>logs/</Key><Key>logs/c/</Key><NextContinuationToken>1/&#x3d;</NextContinuationToken>",
    "<Key>logs/&#228;</Key>",
  ];
  const fetch = async ({ url }: Request) => {
    asked.push(new URL(url).search);
    return new Response(pages[asked.length - 1]);
  };
  const archive = s3Archive(settings("s3://bucket/logs", ENV), { fetch, pause: async () => {} });
  expect(await paths(archive)).toEqual(["a&b", "ä"]);
  expect(asked.map((query) => new URLSearchParams(query).get("continuation-token"))).toEqual([null, "1/="]);
});
