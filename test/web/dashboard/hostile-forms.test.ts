/** Any form or address gets an answer, and never a 500. */
import { expect, it } from "vitest";
import { destinationConf } from "../../support/runtime/api.ts";
import { call, freshBucket, type Job } from "../api/harness.ts";
import { s3Form } from "./creating.ts";
import { ORIGIN, Visitor } from "./support.ts";

const OWN = { origin: ORIGIN, "sec-fetch-site": "same-origin" };

const nested = (levels: number) => `{"where":${'{"and":['.repeat(levels)}1${"]}".repeat(levels)}}`;
const condition = (parts: object) => JSON.stringify(JSON.stringify({ where: parts }));

/** Made when they are sent: the endpoint of the tests is in them. */
const forms = (): readonly Record<string, string>[] => [
  { "filter-was": JSON.stringify(nested(20_000)), do: "filter:add:0" },
  { "filter-was": JSON.stringify(nested(19)), do: "filter:group:9999" },
  { "filter-was": "[".repeat(200_000), do: "filter:show:0" },
  { "filter-was": '""', "filter-json": "[".repeat(200_000), do: "save" },
  { "filter-was": '""', "filter-json": '{"where":{"__proto__":{"and":[]},"key":"a"}}', do: "preview" },
  { "filter-was": condition({ key: "__proto__", operator: "constructor", value: "x" }), do: "filter:show:0" },
  { "filter-was": '""', fields: "some", field: "__proto__", "place-__proto__": "NaN", sample_rate: "1e999" },
  { "filter-was": '""', fields: "some", field: "constructor", "place-constructor": "-Infinity", sample_rate: "x" },
  { "output-was": "__proto__", output_type: "constructor", record_template: "\u0000{{", max_upload_bytes: "1e400" },
  { "output-was": "csv", field_delimiter: "\\udc00", max_upload_interval_seconds: "0x10", name: "\u0000".repeat(600) },
  {
    ...s3Form("a".repeat(5_000), { endpoint: "https://[::1]", access_key_id: "\r\nx: y" }),
    scheme: "__proto__",
    do: "test",
  },
  { ...s3Form("bucket", { path: `a${"/".repeat(150_000)}a` }), do: "save" },
  { do: "kind:__proto__", destination_conf: `s3://${"?".repeat(100_000)}` },
  { do: "mend", told: "HTTP 400 (region __proto__)", entered: "1.AAAA.AAAA", form: "x".repeat(300_000) },
  { do: "own:read", ownership_challenge: "x".repeat(300_000) },
  { since: "x".repeat(100_000), until: "9999-99-99", to: "folder", path: `b/{DATE}?${"a=b&".repeat(3_000)}` },
  { since: "2026-11-20", until: "2026-11-21", to: "job", of_job: "1e999", entered: "1.AAAA.AAAA", do: "start" },
  { since: "2026-11-20", until: "2026-11-21", do: "start", destination_conf: `s3://b/x?${"a=b&".repeat(3_000)}` },
  { url: `https://x/${"a".repeat(100_000)}`, enabled: "true" },
  { email: "\u0000@x", role: "__proto__", name: "x", permission: "__proto__", expires_on: "0000-00-00" },
  { destination_conf: `objstore://${"/".repeat(100_000)}`, "destination-path": `${"/".repeat(50_000)}?`, do: "save" },
];

it("whatever a form says", async () => {
  const visitor = await Visitor.signedIn();
  const body = { destination_conf: destinationConf(freshBucket().name), dataset: "functions_trace_events" };
  const { id } = (await call<Job>("POST", "/logship/jobs", body)).body.result;
  const csrf = await visitor.csrf();
  const others = ["/alerts/webhook", "/access/members", "/access/tokens", "/functions", "/set-aside/resend"];
  const elsewhere = "/set-aside/object-1-1/elsewhere";
  const replay = [`/jobs/${id}/replay`, `/jobs/${id}/replay/destination`];
  for (const path of ["/jobs/new", ...replay, elsewhere, `/jobs/${id}/edit`, `/jobs/${id}/enabled`, ...others]) {
    for (const [n, fields] of forms().entries()) {
      const { status, location } = await visitor.post(path, new URLSearchParams({ csrf, ...fields }), OWN);
      expect({ path, n, isOurs: status >= 500 }).toEqual({ path, n, isOurs: false });
      if (location === null) continue;
      // What was stored can be shown.
      const next = await visitor.get(location.split("#")[0] ?? "");
      const isWhole = next.status < 500 && !next.html.includes("This part cannot be shown");
      expect({ path, n, location, isWhole }).toEqual({ path, n, location, isWhole: true });
    }
  }
}, 120_000);

it("whatever an address says", async () => {
  const visitor = await Visitor.signedIn();
  const places = [
    `/jobs?q=${"%2e".repeat(3_000)}`,
    `/live?job=__proto__&script=${"x".repeat(10_000)}`,
    "/access?gone=__proto__&tokens=999999&members=-1",
    "/access?gone=constructor",
    "/access/audit?page=999999",
    `/functions?name=${"%F0%9F%98%80".repeat(200)}&page=999999`,
    "/status?page=999999",
    "/set-aside?page=999999",
    "/session?closed=9999",
    "/jobs/new?created=999999999999999",
  ];
  for (const place of places) {
    const { status, html } = await visitor.get(place);
    const isWhole = status === 200 && !/cannot be shown|\[native code\]|\[object [A-Z]/.test(html);
    expect({ place, isWhole }).toEqual({ place, isWhole: true });
  }
});
