import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEndpoint } from "../../../src/base/hosts.ts";
import {
  isMasked,
  maskDestination,
  parseDestination,
  parsePlace,
  samePlace,
  unmaskDestination,
} from "../../../src/ship/destinations/parse.ts";
import inTheWild from "../../fixtures/destination-conf.json";
import { destination, LOCAL, PRODUCTION, refusal, UNKNOWN_SCHEME } from "./context.ts";

const KEYS = "access-key-id=AKID&secret-access-key=SECRET";
const S3 = `region=auto&endpoint=store.example&${KEYS}`;

const BLANKS = "must not have blanks, line breaks or invisible characters";

describe("destinations in the wild", () => {
  const reasons: { [conf: string]: string | null } = {
    "r2://<BUCKET_PATH>/{DATE}?account-id=<ACCOUNT_ID>&access-key-id=<R2_ACCESS_KEY_ID>&secret-access-key=<R2_SECRET_ACCESS_KEY>":
      "the bucket must be 2 to 255 letters, digits, dots, dashes or underscores",
    "r2://terraform-acctest/date={DATE}?account-id=f037e56e89293a057740de681ac9abbe&access-key-id=SCRUBBED&secret-access-key=SCRUBBED":
      null,
    "s3://mybucket/logs?region=us-west-2": "access-key-id is missing",
    "s3://mybucket/logs/{DATE}?region=us-east-1&sse=AES256": "access-key-id is missing",
    "s3://<BUCKET_PATH>?region=us-west-2/": "the bucket must be 2 to 255 letters, digits, dots, dashes or underscores",
    "s3://cloudflare": "region is missing",
    "azure://myblobcontainer/logs/{DATE}?[QueryString]":
      "the host must be a public host; use azure://<account>.blob.core.windows.net/<container>/<path>?<SAS>",
    "gs://mybucket/logs": "access-key-id is missing",
    "https://logs.example.com?header_Authorization=Basic%20REDACTED&tags=host:theburritobot.com,dataset:http_requests":
      null,
    "https://cf-logpush-to-logtail.<your-worker-subdomain>.workers.dev?header_Authorization=Bearer%20<your-logtail-token>&header_Content-Type=application/json":
      "the address must be a host or an https:// URL",
    "https://log-api.newrelic.com/log/v1?Api-Key=<NR_LICENSE_KEY>&format=cloudflare": null,
    "https://log-api.eu.newrelic.com/log/v1?Api-Key=<NR_LICENSE_KEY>&format=cloudflare": null,
    "datadog://<DATADOG_ENDPOINT_URL>?header_DD-API-KEY=<DATADOG_API_KEY>&ddsource=cloudflare&service=<SERVICE>&host=<HOST>&ddtags=<TAGS>":
      "the address must be a host or an https:// URL",
    "splunk://<SPLUNK_ENDPOINT_URL>?channel=<SPLUNK_CHANNEL_ID>&insecure-skip-verify=<INSECURE_SKIP_VERIFY>&sourcetype=<SOURCE_TYPE>&header_Authorization=<SPLUNK_AUTH_TOKEN>":
      "the address must be a host or an https:// URL",
    "sumo://<SUMO_ENDPOINT_URL>/receiver/v1/http/<UNIQUE_HTTP_COLLECTOR_CODE>":
      "the address must be a host or an https:// URL",
    "https://logpush-receiver.sd.cfplat.com?updated=true": null,
  };

  it.each(inTheWild)("are read or refused in words: $conf", ({ conf }) => {
    const parsed = parseDestination(conf, PRODUCTION);
    const expected = reasons[conf];
    if (expected === null) expect(parsed.ok).toBe(true);
    else expect(parsed).toEqual({ ok: false, why: expected ?? UNKNOWN_SCHEME });
  });
});

describe("gs://", () => {
  const place = { scheme: "gs", bucket: "my-traces", path: "logs/{DATE}", accountId: null };
  it("is read with an HMAC key, and with a secret of the deployment for its host", () => {
    expect(destination(`gs://my-traces/logs/{DATE}?${KEYS}`)).toEqual({
      ...place,
      endpoint: new URL("https://storage.googleapis.com/"),
      credentials: { accessKeyId: "AKID", secretAccessKey: "SECRET" },
    });
    expect(destination("gs://my-traces/logs/{DATE}?endpoint=store.example&credentials=env:DEST_ARCHIVE")).toEqual({
      ...place,
      endpoint: new URL("https://store.example/"),
      credentials: { accessKeyId: "env-id", secretAccessKey: "env-secret" },
    });
  });

  it.each([
    ["no key", "gs://traces/a", "access-key-id is missing"],
    ["half a key", "gs://traces/a?access-key-id=x", "secret-access-key is missing"],
    [
      "a bucket in capitals",
      `gs://Traces/a?${KEYS}`,
      "the bucket must be 3 to 222 lower-case letters, digits, dots, dashes or underscores",
    ],
    [
      "a region, which is S3's",
      `gs://traces/a?region=auto&${KEYS}`,
      "unknown parameter; known for this scheme are endpoint, access-key-id, secret-access-key, credentials",
    ],
    [
      "a secret for another host",
      "gs://traces/a?credentials=env:DEST_ARCHIVE",
      "the secret DEST_ARCHIVE is for another host than this destination's",
    ],
    ["an inner host", `gs://traces/a?endpoint=169.254.169.254&${KEYS}`, "endpoint must be a public host"],
  ])("is refused with %s", (_what, conf, why) => {
    expect(refusal(conf)).toBe(why);
  });
});

describe("binding://", () => {
  it("is a bucket of the worker, without keys", () => {
    const bucket = { put: () => {} } as unknown as R2Bucket;
    expect(destination("binding://TRACES/logs/{DATE}", { ...PRODUCTION, binding: () => bucket })).toEqual({
      scheme: "binding",
      bucket: "TRACES",
      path: "logs/{DATE}",
      accountId: null,
      endpoint: new URL("binding://worker"),
      credentials: bucket,
    });
  });

  it.each([
    ["a binding that is not listed", "binding://SECRETS/a", "DESTINATION_BINDINGS does not name SECRETS"],
    ["one that is not bound", "binding://GONE/a", "this service has no binding GONE"],
    ["one that is no bucket", "binding://KV/a", "the binding KV is not an R2 bucket"],
    [
      "no name",
      "binding:///a",
      "the binding must be 1 to 64 letters, digits or underscores, and must not begin with a digit",
    ],
    ["a parameter", "binding://GONE/a?region=auto", "binding:// takes no parameters"],
    ["a path that leads up", "binding://GONE/../a", "the path must not contain . or .. as a segment"],
  ])("is refused with %s", (_what, conf, why) => {
    expect(refusal(conf)).toBe(why);
  });

  it("is one place, whether it is bound or not", () => {
    const place = parsePlace("binding://GONE/logs", PRODUCTION);
    expect(place.ok && samePlace(place.value, place.value)).toBe(true);
  });
});

describe("objstore://", () => {
  const account = "f037e56e89293a057740de681ac9abbe";

  it.each(["objstore", "r2"])("is read under its name %s://", (scheme) => {
    expect(destination(`${scheme}://traces/date={DATE}?account-id=${account}&${KEYS}`)).toEqual({
      scheme,
      bucket: "traces",
      path: "date={DATE}",
      endpoint: new URL(`https://${account}.r2.cloudflarestorage.com`),
      accountId: account,
      region: "auto",
      sse: null,
      credentials: { accessKeyId: "AKID", secretAccessKey: "SECRET" },
    });
  });

  it("goes to the endpoint that is configured, its path prefix kept", () => {
    const read = destination(`objstore://traces/x?account-id=a&${KEYS}`, LOCAL);
    expect(read.endpoint.href).toBe("http://127.0.0.1:8787/cdn-cgi/local/r2/s3");
  });

  it.each(["evil.example/x?", "evil.example%2Fx%3F", "a.b", "a/b", "a@b", "a:b", "a#", "..", "ä", "a".repeat(65)])(
    "has no account id that could name another host: %s",
    (id) => {
      expect(refusal(`objstore://traces/x?account-id=${id}&${KEYS}`)).toBe(
        "account-id must be 1 to 64 letters, digits or dashes",
      );
    },
  );

  const longest = "a".repeat(64);
  const wrong: [conf: string, why: string][] = [
    [`objstore://traces/x?account-id=${longest}`, "access-key-id is missing"],
    [`objstore://traces/x?${KEYS}`, "account-id is missing"],
    ["objstore://traces/x?account-id=a", "access-key-id is missing"],
    ["objstore://traces/x?account-id=a&access-key-id=AKID", "secret-access-key is missing"],
    ["objstore://traces/x?account-id=a&secret-access-key=SECRET", "access-key-id is missing"],
    ...["region=auto", "endpoint=evil.example"].map((more): [conf: string, why: string] => [
      `objstore://traces/x?account-id=a&${more}&${KEYS}`,
      "unknown parameter; known for this scheme are account-id, access-key-id, secret-access-key, credentials",
    ]),
  ];

  it.each(wrong)("is refused in words: %s", (conf, why) => {
    expect(refusal(conf)).toBe(why);
  });
});

describe("s3://", () => {
  it("is read with all it may say", () => {
    expect(
      destination(
        `s3://traces/a/{DATE}/b?region=eu-west-1&endpoint=https://store.example:9000/prefix/&sse=AES256&${KEYS}`,
      ),
    ).toEqual({
      scheme: "s3",
      bucket: "traces",
      path: "a/{DATE}/b",
      endpoint: new URL("https://store.example:9000/prefix"),
      accountId: null,
      region: "eu-west-1",
      sse: "AES256",
      credentials: { accessKeyId: "AKID", secretAccessKey: "SECRET" },
    });
  });

  it("goes to the vendor's own endpoint of the region without another", () => {
    expect(destination(`s3://traces/a?region=eu-west-1&${KEYS}`).endpoint.href).toBe(
      "https://s3.eu-west-1.amazonaws.com/",
    );
  });

  const UNKNOWN =
    "unknown parameter; known for this scheme are region, endpoint, addressing-style, sse, access-key-id, secret-access-key, credentials";
  const wrong: [conf: string, why: string][] = [
    [`s3://traces/a?${KEYS}`, "region is missing"],
    ...["us-west-2/", "evil.example%23", "US-EAST-1", "evil.example", "a_b", "a".repeat(65)].map(
      (region): [string, string] => [
        `s3://traces/a?region=${region}&${KEYS}`,
        "region must be 1 to 64 lower-case letters, digits or dashes without an endpoint",
      ],
    ),
    ...["a/b", "%C3%A4", "a".repeat(65)].map((region): [string, string] => [
      `s3://traces/a?region=${region}&endpoint=store.example&${KEYS}`,
      "region must be 1 to 64 letters, digits, dashes, dots or underscores",
    ]),
    [`s3://traces/a?region=auto&sse=aws:kms&${KEYS}`, "sse must be AES256"],
    [`s3://traces/a?region=auto&region=auto&${KEYS}`, "region is given twice"],
    [`s3://traces/a?region=&${KEYS}`, "region is empty"],
    [`s3://traces/a?region=auto&endpoint=&${KEYS}`, "endpoint is empty"],
    [`s3://traces/a?region&${KEYS}`, "region is empty"],
    ["s3://traces/a?region=auto&access-key-id=&secret-access-key=SECRET", "access-key-id is empty"],
    [`s3://traces/a?region=auto&account-id=a&${KEYS}`, UNKNOWN],
    ["s3://traces/a?region=auto&access-key-id=AKID&secret-access-key=SEC&RET", UNKNOWN],
    [
      "s3://traces/a?region=auto&access-key-id=AKID&secret-access-key=SEC%RET",
      "a parameter is not correctly percent-encoded",
    ],
    ["s3://traces/a?region=auto&access-key-id=AK%0aID&secret-access-key=SECRET", `access-key-id ${BLANKS}`],
    ["s3://traces/a?region=auto&access-key-id=AK ID&secret-access-key=SECRET", `access-key-id ${BLANKS}`],
  ];

  it.each(wrong)("is refused in words: %s", (conf, why) => {
    expect(refusal(conf)).toBe(why);
  });
});

describe("any destination", () => {
  const BAD_BUCKET = "the bucket must be 2 to 255 letters, digits, dots, dashes or underscores";
  const wrong: [what: string, conf: string, why: string][] = [
    ["is empty", "", "destination_conf must be <scheme>://<bucket>/<path>?<parameters>"],
    ["is no such string", "traces/a", "destination_conf must be <scheme>://<bucket>/<path>?<parameters>"],
    ["has no bucket", `s3:///a?${S3}`, BAD_BUCKET],
    ["has user information", `s3://user:pass@traces/a?${S3}`, BAD_BUCKET],
    ["has a port", `s3://traces:9000/a?${S3}`, BAD_BUCKET],
    ["has a bucket of one letter", `s3://a/a?${S3}`, BAD_BUCKET],
    ["has a bucket of dots", `s3://../a?${S3}`, BAD_BUCKET],
    ["has an encoded bucket", `s3://tra%2fces/a?${S3}`, BAD_BUCKET],
    ["has a bucket that is too long", `s3://${"a".repeat(256)}/a?${S3}`, BAD_BUCKET],
    ["goes up in its path", `s3://traces/a/../b?${S3}`, "the path must not contain . or .. as a segment"],
    ["goes up at the end of its path", `s3://traces/a/..?${S3}`, "the path must not contain . or .. as a segment"],
    ["stays where it is in its path", `s3://traces/./b?${S3}`, "the path must not contain . or .. as a segment"],
    ["has a control character in its path", `s3://traces/a\nb?${S3}`, "the path must not contain control characters"],
    ["has a lone surrogate in its path", `s3://traces/a\ud800b?${S3}`, "destination_conf must be well-formed text"],
    ["has a lone surrogate in a secret", `s3://traces/a?${S3}\udc00`, "destination_conf must be well-formed text"],
    ["has too long a path", `s3://traces/${"€".repeat(301)}?${S3}`, "the path is longer than 900 bytes"],
    ["is too long", `s3://traces/a?${S3}&sse=${"x".repeat(4_096)}`, "destination_conf is longer than 4096 characters"],
    ["has a scheme of its own", `ftp://traces/a?${S3}`, UNKNOWN_SCHEME],
    ["has a scheme in capitals", `S3://traces/a?${S3}`, UNKNOWN_SCHEME],
    [
      "has the scheme of a plain web page",
      `http://traces/a?${S3}`,
      "http:// is not accepted: an address begins with https://",
    ],
  ];

  it.each(wrong)("is refused when it %s", (_what, conf, why) => {
    expect(refusal(conf)).toBe(why);
  });

  const paths: [sent: string, path: string][] = [
    ["", ""],
    ["///", ""],
    ["//a//b//", "a//b"],
    ["/a b+c!'()*ü€", "a b+c!'()*ü€"],
    ["/%2e%2e/a%20b", "%2e%2e/a%20b"],
    ["/...", "..."],
    ["/a#b", "a#b"],
    [`/${"€".repeat(299)}`, "€".repeat(299)],
  ];

  it.each(paths)("keeps its path as it is written, but for slashes at its ends: %s", (sent, path) => {
    expect(destination(`s3://traces${sent}?${S3}`).path).toBe(path);
  });

  it.each(["a+b/c=", "a=b=c", "a?b"])("takes a secret as it is written, a plus for one: %s", (secret) => {
    const conf = `s3://traces/a?region=auto&access-key-id=AKID&secret-access-key=${secret}`;
    expect(destination(conf).credentials.secretAccessKey).toBe(secret);
  });

  it("says nothing of a secret in the reason why it is refused, wherever the secret stands", () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9]{16,24}$/).map((text) => `SeCrEt${text}`);
    const template = fc.constantFrom(
      "s3://traces/a?region=auto&access-key-id=¤&secret-access-key=x&secret-access-key=¤",
      "s3://traces/a?region=auto&access-key-id=a&secret-access-key=¤&¤",
      "s3://traces/a?region=auto&access-key-id=a&secret-access-key=x&¤=x",
      "s3://traces/a?region=auto&sse=¤&access-key-id=a&secret-access-key=x",
      "s3://traces/a?region=¤.&access-key-id=a&secret-access-key=x",
      "s3://traces/a?region=auto&endpoint=http://u:¤@h&access-key-id=a&secret-access-key=x",
      "s3://traces/a?region=auto&endpoint=ftp://¤&access-key-id=a&secret-access-key=x",
      "s3://traces/a?region=auto&credentials=¤",
      "s3://traces/a?region=auto&credentials=env:¤",
      "s3://traces/a?region=auto&credentials=env:DEST_ARCHIVE&access-key-id=¤",
      "s3://traces/a?region=auto&endpoint=other.example&credentials=env:DEST_ARCHIVE",
      "s3://u:¤@traces/a?region=auto",
      "s3://traces/../¤?region=auto",
      "¤://traces/a",
      "¤",
      "objstore://traces/a?account-id=¤.&access-key-id=a&secret-access-key=x",
      "objstore://traces/a?secret-access-key=¤",
      "objstore://traces/a?account-id=a&secret-access-key=¤&access-key-id=\u00fc",
      "s3://traces/a?region=auto&access-key-id=%25¤&secret-access-key=%zz",
    );
    fc.assert(
      fc.property(template, secret, (text, value) => {
        for (const context of [PRODUCTION, LOCAL]) {
          const parsed = parseDestination(text.replaceAll("¤", value), context);
          expect(parsed.ok).toBe(false);
          if (!parsed.ok) expect(parsed.why).not.toContain(value);
        }
      }),
      { numRuns: 400 },
    );
  });
});

it("the path of a destination may have {DATE} in it as often as a key has room", () => {
  expect(destination(`s3://traces/${"{DATE}/".repeat(20)}?${S3}`).path).toBe("{DATE}/".repeat(20).slice(0, -1));
  expect(destination(`s3://traces/${"x".repeat(900)}?${S3}`).path.length).toBe(900);
});

/** Which hosts are public, and which are local: test/base/hosts.test.ts. */
describe("an endpoint", () => {
  const INFO = "refused: endpoint must not contain user information";
  const QUERY = "refused: endpoint must not contain a query or a fragment";
  const NO_URL = "refused: endpoint must be a host or an https:// URL";
  it.each([
    ["store.example", "https://store.example/"],
    ["store.example:9000", "https://store.example:9000/"],
    ["https://store.example/a/b//", "https://store.example/a/b"],
    ["https://b\u00fccher.example", "https://xn--bcher-kva.example/"],
    ["http://store.example", "refused: endpoint must use https"],
    ["ftp://store.example", "refused: endpoint must use https"],
    ["http://127.0.0.1.evil.example", "refused: endpoint must use https"],
    ["http://localhost.evil.example", "refused: endpoint must use https"],
    ["https://10.0.0.7", "refused: endpoint must be a public host"],
    ["https://localhost..", "refused: endpoint must be a public host"],
    ["http://127.0.0.1@evil.example", INFO],
    ["https://user:pass@store.example", INFO],
    ["user@store.example", INFO],
    ["https://store.example/?x=1", QUERY],
    ["https://store.example/#x", QUERY],
    ["https://", NO_URL],
    ["a b", NO_URL],
    ["https://store\r\n.example", NO_URL],
    ["https://store.example\r\nx-amz-acl: public-read", NO_URL],
    ["https://st\tore.example", NO_URL],
    [" https://store.example", NO_URL],
    ["https://store.example\\@127.0.0.1", NO_URL],
    ["\\\\127.0.0.1", NO_URL],
    ["store.example\0", NO_URL],
  ])("is a host or an https:// URL, in local development as elsewhere: %j: %s", (text, read) => {
    for (const isLocal of [false, true]) {
      const parsed = parseEndpoint(text, "endpoint", isLocal);
      expect(parsed.ok ? parsed.value.href : `refused: ${parsed.why}`).toBe(read);
    }
  });
});

describe("credentials by reference", () => {
  const with_ = (parameters: string) => `s3://traces/a?region=auto&endpoint=store.example&${parameters}`;

  it("come from the secret of that name, whose host is the endpoint's", () => {
    expect(destination(with_("credentials=env:DEST_ARCHIVE")).credentials).toEqual({
      accessKeyId: "env-id",
      secretAccessKey: "env-secret",
    });
  });

  const ELSEWHERE = "the secret DEST_ARCHIVE is for another host than this destination's";
  const NO_NAME = "credentials must be env:DEST_<NAME>";
  const BOTH = "give either credentials or access-key-id and secret-access-key";
  const at = (endpoint: string) => `s3://traces/a?region=auto&endpoint=${endpoint}&credentials=env:DEST_ARCHIVE`;
  it.each([
    ["another host", at("evil.example"), ELSEWHERE],
    ["another port of the host", at("store.example:444"), ELSEWHERE],
    ["a subdomain of the host", at("a.store.example"), ELSEWHERE],
    ["the vendor's endpoint", "s3://traces/a?region=auto&credentials=env:DEST_ARCHIVE", ELSEWHERE],
    ["another scheme's", "objstore://traces/a?account-id=a&credentials=env:DEST_ARCHIVE", ELSEWHERE],
    ["a secret that is no destination's", with_("credentials=env:ADMIN_TOKEN"), NO_NAME],
    ["a secret of an odd name", with_("credentials=env:DEST_a"), NO_NAME],
    ["a secret of no name", with_("credentials=env:DEST_"), NO_NAME],
    ["no reference", with_("credentials=DEST_ARCHIVE"), NO_NAME],
    ["two lines", with_("credentials=env:DEST_ARCHIVE%0aX"), `credentials ${BLANKS}`],
    ["a secret that is not there", with_("credentials=env:DEST_NONE"), "there is no secret DEST_NONE"],
    ...["DEST_BROKEN", "DEST_TEXT"].map((name) => [
      "a secret that is not complete, or no JSON",
      with_(`credentials=env:${name}`),
      `the secret ${name} must be JSON with host, access_key_id and secret_access_key`,
    ]),
    ["keys as well", with_(`credentials=env:DEST_ARCHIVE&${KEYS}`), BOTH],
    ["half of the keys as well", with_("credentials=env:DEST_ARCHIVE&secret-access-key=x"), BOTH],
  ])("are refused for %s: %s", (_what, conf, why) => expect(refusal(conf as string)).toBe(why));
});

describe("masking", () => {
  const conf = "s3://traces/a?region=auto&access-key-id=AK+ID&endpoint=store.example&secret-access-key=SE%2FCRET=";
  const masked = "s3://traces/a?region=auto&access-key-id=****&endpoint=store.example&secret-access-key=****";

  it("leaves everything but the secrets as it is written", () => {
    expect(maskDestination(conf)).toBe(masked);
    expect(maskDestination("s3://traces/a?region=auto&credentials=env:DEST_ARCHIVE")).toBe(
      "s3://traces/a?region=auto&credentials=env:DEST_ARCHIVE",
    );
    expect(maskDestination("s3://traces/a")).toBe("s3://traces/a");
  });

  it("is undone with what is stored", () => {
    expect(unmaskDestination(masked, conf)).toBe(conf);
    expect(unmaskDestination("s3://traces/b/{DATE}?secret-access-key=****&access-key-id=NEW&region=x", conf)).toBe(
      "s3://traces/b/{DATE}?secret-access-key=SE%2FCRET=&access-key-id=NEW&region=x",
    );
  });

  it("is undone only where a secret stands", () => {
    expect(unmaskDestination("s3://****/****?region=****&secret-access-key=****", conf)).toBe(
      "s3://****/****?region=****&secret-access-key=SE%2FCRET=",
    );
  });

  it("stays where the code of the address is another one: no other secret of it goes there", () => {
    const [at, token] = ["sumo://sumo.example/receiver/v1/http/", "?header_Authorization="];
    const stored = `${at}CODE${token}HIDDEN`;
    expect(unmaskDestination(`${at}****${token}****`, stored)).toBe(stored);
    expect(unmaskDestination(`${at}CODE${token}****`, stored)).toBe(stored);
    for (const sent of [`${at}OTHER${token}****`, `${at}${token}****`, `${at}below/****${token}****`])
      expect(unmaskDestination(sent, stored)).toBe(sent);
  });

  it("stays where nothing is stored for it", () => {
    expect(unmaskDestination(masked, "s3://traces/a?region=auto&credentials=env:DEST_ARCHIVE")).toBe(masked);
  });

  it.each([
    [conf, false],
    [masked, true],
    ["s3://traces/a?secret-access-key=****", true],
    ["s3://traces/a?access-key-id=****", true],
    ["s3://traces/a?region=****", false],
    ["s3://traces/****", false],
    ["s3://traces/a?secret-access-key=*****", false],
    ["s3://traces/a", false],
  ])("is noticed: %s", (text, expected) => {
    expect(isMasked(text)).toBe(expected);
  });

  it("hides the code of an address that is refused for its capitals", () => {
    expect(maskDestination("SUMO://sumo.example/receiver/v1/http/hidden")).not.toContain("hidden");
  });
  it("is noticed when the asterisks are percent-encoded", () => {
    expect(isMasked("s3://traces/a?region=auto&access-key-id=AKID&secret-access-key=%2A%2A%2A%2A")).toBe(true);
  });
});
