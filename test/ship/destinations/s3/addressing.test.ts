import { describe, expect, it } from "vitest";
import { parseNewDestination } from "../../../../src/ship/destinations/parse.ts";
import { destination, LOCAL } from "../context.ts";

const conf = (bucket: string, endpoint: string, region = "auto") =>
  `s3://${bucket}/logs/{DATE}?region=${region}&endpoint=${encodeURIComponent(endpoint)}&access-key-id=A&secret-access-key=B`;

function whyNot(text: string): string | null {
  const parsed = parseNewDestination(text, LOCAL);
  return parsed.ok ? null : parsed.why;
}

describe("an endpoint that holds the bucket already", () => {
  it.each<[endpoint: string, right: string, bucket?: string]>([
    ["https://traces.s3.eu-central-1.amazonaws.com", "https://s3.eu-central-1.amazonaws.com"],
    ["traces.fra1.digitaloceanspaces.com", "https://fra1.digitaloceanspaces.com"],
    ["https://TRACES.store.example:9000", "https://store.example:9000"],
    ["https://traces.store.example/prefix", "https://store.example/prefix"],
    ["https://store.example/traces", "https://store.example"],
    ["https://store.example/traces/", "https://store.example"],
    ["https://store.example/s3/traces", "https://store.example/s3"],
    ["https://store.example/tr%61ces", "https://store.example"],
    ["https://traces.store.example/traces", "https://store.example"],
    ["http://127.0.0.1:9000/traces", "http://127.0.0.1:9000"],
    ["http://traces.localhost:9000", "http://localhost:9000"],
    ["https://my.bucket.store.example", "https://store.example", "my.bucket"],
    ["https://Logs.store.example", "https://store.example", "LOGS"],
    ["https://storage.s3.eu-central-1.amazonaws.com", "https://s3.eu-central-1.amazonaws.com", "storage"],
  ])("is refused with the right form: %s", (endpoint, right, bucket = "traces") => {
    expect(whyNot(conf(bucket, endpoint))).toBe(
      `endpoint must not contain the bucket: it is added to the path of each request. Use ${right}`,
    );
    // A stored job goes on.
    expect(destination(conf(bucket, endpoint), LOCAL).bucket).toBe(bucket);
  });

  it.each<[endpoint: string, bucket?: string]>([
    ["https://store.example"],
    ["https://traces2.store.example"],
    ["https://my-traces.store.example"],
    ["https://store.traces.example"],
    ["https://store.example/traces/s3"],
    ["https://store.example/Traces"],
    ["https://store.example/my-traces"],
    ["https://minio.store.example", "minio"],
    ["https://s3.store.example", "s3"],
    ["http://127.0.0.1:8787/cdn-cgi/local/r2/s3", "s3"],
    ["https://storage.googleapis.com", "storage"],
    ["http://127.0.0.1:9000", "127"],
    ["https://traces.com"],
    ["https://traces.example:9000"],
    ["https://store.example", "store.example"],
  ])("is not suspected: %s", (endpoint, bucket = "traces") => {
    expect(whyNot(conf(bucket, endpoint))).toBeNull();
  });

  it("is not looked for where the endpoint is not the caller's", () => {
    const keys = "access-key-id=A&secret-access-key=B";
    expect(whyNot(`s3://s3/x?region=eu-central-1&${keys}`)).toBeNull();
    expect(whyNot(`objstore://s3/x?account-id=a&${keys}`)).toBeNull();
  });

  it("leaves what is no destination to its own words", () => {
    expect(whyNot("s3://traces/x?region=auto")).toBe("access-key-id is missing");
    expect(whyNot("traces")).toContain("must be <scheme>");
  });
});

describe("a region", () => {
  it.each(["RegionOne", "us-west-002", "WAW3-1", "dc3.a", "my_region"])("is as the store names it: %s", (region) => {
    expect(destination(conf("traces", "store.example", region)).region).toBe(region);
  });
});
