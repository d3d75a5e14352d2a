import { describe, expect, it } from "vitest";
import { formOf } from "../../../../src/ship/destinations/entry.ts";
import { openDestination } from "../../../../src/ship/destinations/kinds.ts";
import {
  parseNewDestination,
  sameFolder,
  sameHolder,
  samePlace,
  sameStore,
} from "../../../../src/ship/destinations/parse.ts";
import { meaningOf } from "../../../../src/ship/destinations/s3/object-store.ts";
import { classify } from "../../../../src/ship/destinations/store/answers.ts";
import { signatureFault } from "../../../support/s3-signature.ts";
import { destination, LOCAL, PRODUCTION } from "../context.ts";
import { answer } from "../objects.ts";

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
    const isInHost = new URL(endpoint.includes("://") ? endpoint : `https://${endpoint}`).host !== new URL(right).host;
    const more = isInHost ? ", and addressing-style=virtual if the store wants the bucket in the host" : "";
    expect(whyNot(conf(bucket, endpoint))).toBe(
      `endpoint must not contain the bucket: it is added to the path of each request. Use ${right}${more}`,
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

describe("a region of AWS", () => {
  it.each([
    ["eu-central-1", "s3.eu-central-1.amazonaws.com"],
    ["us-gov-west-1", "s3.us-gov-west-1.amazonaws.com"],
    ["cn-north-1", "s3.cn-north-1.amazonaws.com.cn"],
    ["cn-northwest-1", "s3.cn-northwest-1.amazonaws.com.cn"],
    ["eusc-de-east-1", "s3.eusc-de-east-1.amazonaws.eu"],
  ])("leads to the domain of its partition: %s", (region, host) => {
    const keys = "access-key-id=A&secret-access-key=B";
    expect(destination(`s3://traces/x?region=${region}&${keys}`).endpoint.href).toBe(`https://${host}/`);
    // An endpoint of one's own is left as it is.
    expect(destination(conf("traces", "store.example", region)).endpoint.host).toBe("store.example");
  });
});

describe("a bucket of a tenant", () => {
  it.each(["acme:logs", "acme_2:my.logs", ":logs"])("is asked for with its tenant: %s", async (bucket) => {
    const { asked, store } = opened(conf(bucket, "https://ceph.example/rgw"));
    await store.read("logs/a b.gz");
    const path = `/rgw/${encodeURIComponent(bucket)}/logs/a%20b.gz`;
    expect(asked).toEqual([`https://ceph.example${path}`]);
    expect(whyNot(conf(bucket, "https://ceph.example"))).toBeNull();
  });

  it.each(["host:9000", "a-b:logs", "a:b:logs", "acme:", "acme:x"])("is none: %s", (bucket) => {
    expect(whyNot(conf(bucket, "https://ceph.example"))).toMatch(/^the bucket must be 2 to 255/);
  });

  it("is for Ceph, not for R2", () => {
    expect(whyNot("objstore://acme:logs/x?account-id=a&access-key-id=A&secret-access-key=B")).toMatch(/^the bucket/);
  });
});

/** A destination whose requests are noted, and answered with 404. */
function opened(text: string, context = PRODUCTION) {
  const asked: string[] = [];
  const store = openDestination(destination(text, context), {
    now: () => 0,
    sleep: async () => {},
    fetch: async (url) => {
      asked.push(url);
      return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
    },
  });
  return { asked, store };
}

const virtual = (bucket: string, endpoint: string): string => `${conf(bucket, endpoint)}&addressing-style=virtual`;

describe("addressing by host", () => {
  it.each([
    ["traces", "oss-cn-hangzhou.aliyuncs.com", "https://traces.oss-cn-hangzhou.aliyuncs.com/logs/x.gz"],
    ["traces-125", "https://cos.example:8443/", "https://traces-125.cos.example:8443/logs/x.gz"],
    ["traces", "https://store.example/prefix", "https://traces.store.example/prefix/logs/x.gz"],
    ["traces", "http://localhost:9000", "http://traces.localhost:9000/logs/x.gz"],
  ])("puts the bucket before the host: %s at %s", async (bucket, endpoint, url) => {
    const { asked, store } = opened(virtual(bucket, endpoint), LOCAL);
    await store.read("logs/x.gz");
    expect(asked).toEqual([url]);
  });

  it("is that of AWS where it is asked for, and is signed for the host that is asked", async () => {
    const text = "s3://traces/x?region=eu-central-1&addressing-style=virtual&access-key-id=AK&secret-access-key=SK";
    const { asked, store } = opened(text);
    await store.read("a=b/c+d");
    expect(asked).toEqual(["https://traces.s3.eu-central-1.amazonaws.com/a%3Db/c%2Bd"]);
    let sent = new Headers();
    const signing = openDestination(destination(text), {
      now: () => 0,
      sleep: async () => {},
      fetch: async (_url, { headers }) => {
        sent = new Headers(headers);
        return new Response(null, { status: 404 });
      },
    });
    await signing.read("a=b/c+d");
    const received = (host: string) => ({
      method: "GET",
      path: "/a%3Db/c%2Bd",
      query: new URLSearchParams(),
      headers: { ...Object.fromEntries(sent), host },
    });
    const fault = (host: string) => signatureFault(received(host), { AK: "SK" }, 0, 0);
    expect(await fault("traces.s3.eu-central-1.amazonaws.com")).toBeNull();
    expect(await fault("s3.eu-central-1.amazonaws.com")).toMatchObject({ code: "SignatureDoesNotMatch" });
  });

  const WRONG_BUCKET = "the bucket must be 2 to 63 lower-case letters, digits or dashes to stand in a host";
  it.each([
    ["my.traces", "https://store.example", WRONG_BUCKET],
    ["Traces", "https://store.example", WRONG_BUCKET],
    ["my_traces", "https://store.example", WRONG_BUCKET],
    ["traces-", "https://store.example", WRONG_BUCKET],
    ["acme:traces", "https://store.example", WRONG_BUCKET],
    ["a".repeat(64), "https://store.example", WRONG_BUCKET],
    ["traces", "http://127.0.0.1:9000", "endpoint, with the bucket before it, must be a host or an https:// URL"],
    ["traces", "http://[::1]:9000", "endpoint, with the bucket before it, must be a host or an https:// URL"],
    // Where clouds answer their own machines.
    ["instance-data", "https://ec2.example", "endpoint, with the bucket before it, must be a public host"],
    [
      "traces",
      "https://traces.store.example",
      "endpoint must not contain the bucket: it is added to the host of each request. Use https://store.example",
    ],
  ])("is refused where no host can come of it: %s at %s", (bucket, endpoint, why) => {
    expect(whyNot(virtual(bucket, endpoint))).toBe(why);
  });

  it("is asked for by one word", () => {
    const style = (text: string): string | null =>
      whyNot(`${conf("traces", "store.example")}&addressing-style=${text}`);
    for (const text of ["path", "Virtual", "auto", "host"])
      expect(style(text)).toBe("addressing-style must be virtual, or left out");
  });

  it("leads to the same objects as path-style does, and to another address", () => {
    const [a, b] = [destination(conf("traces", "store.example")), destination(virtual("traces", "store.example"))];
    expect([sameFolder(a, b), sameHolder(a, b), sameStore(a, b), samePlace(a, b)]).toEqual([true, true, false, false]);
    expect(sameStore(b, destination(virtual("traces", "store.example")))).toBe(true);
  });

  it("is offered by the form, where a store asks for it", () => {
    const form = formOf("s3");
    const values = { endpoint: "https://oss.example", region: "cn-hangzhou", addressing_style: "" };
    for (const code of [
      "SecondLevelDomainForbidden",
      "PathStyleDomainForbidden",
      "InvalidPathAccess",
      "VirtualHostDomainRequired",
    ])
      expect(form?.mend?.(values, { status: 403, code, region: null })).toEqual({
        values: { ...values, addressing_style: "true" },
        words: "Put the bucket into the host and test",
      });
    expect(form?.mend?.(values, { status: 403, code: "AccessDenied", region: null })).toBeNull();
  });

  it("parks the job of a store that wants it, and sets no object aside", () => {
    for (const status of [400, 403]) {
      const means = meaningOf(status, "InvalidPathAccess");
      const refused = answer(status, { code: "InvalidPathAccess", ...(means && { means }) });
      expect(classify(refused)).toMatchObject({ kind: "misconfigured" });
    }
  });

  it("asks the host of the bucket why no connection comes about", async () => {
    const asked: string[] = [];
    const store = openDestination(destination(virtual("traces", "store.example")), {
      now: () => 0,
      sleep: async () => {},
      fetch: async (url) => {
        asked.push(new URL(url).host);
        throw new Error("Network connection lost.");
      },
    });
    expect(await store.probe()).toContain("connection failed");
    expect(new Set(asked)).toEqual(new Set(["traces.store.example"]));
  });
});
