/** A container behind an endpoint that checks SAS, permissions and headers as Azure does. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { encodeUtf8 } from "../../../../src/base/bytes.ts";
import { platform } from "../../../../src/base/platform.ts";
import type { OpenDestination } from "../../../../src/ship/destinations/destination.ts";
import { openDestination } from "../../../../src/ship/destinations/kinds.ts";
import { CONDITION } from "../../../../src/ship/destinations/store/manner.ts";
import { AZURE_ACCOUNT, accountSas, containerSas } from "../../../support/azure-sas.ts";
import { type BucketControl, bucketControl } from "../../../support/s3-control.ts";
import { rule } from "../../../support/s3-script.ts";
import { destination, LOCAL } from "../context.ts";
import { fixed, KEY } from "../objects.ts";

/** Waits for nothing. */
const prompt = { ...platform, sleep: async () => {} };

const BYTES = encodeUtf8("fixed bytes");
/** To a container that is known to heed the condition. */
const FIRST = { doubtful: false, leaveOut: CONDITION.believed as number };
const AGAIN = { ...FIRST, doubtful: true };

let names = 0;
let container = "";
let control: BucketControl;
beforeEach(() => {
  names += 1;
  container = `azure-container-${names}`;
  control = bucketControl(inject("s3Url"), container);
});
afterEach(() => control.forget());

const open = (sas: string): OpenDestination => {
  const host = new URL(inject("s3Url")).host;
  const conf = `azure://${host}/${AZURE_ACCOUNT}/${container}/logs/{DATE}?${sas}`;
  return openDestination(destination(conf, LOCAL), prompt);
};
const object = (bytes: Uint8Array = BYTES) => fixed(bytes, { contentType: "application/gzip" });
const write = (to: OpenDestination, options = FIRST, bytes = BYTES) => to.write(object(bytes), () => bytes, options);
const delivered = (verified = true) => ({ kind: "delivered", verified });
const seen = async () => (await control.requests()).map(({ method, status }) => `${method} ${status}`);

describe("a blob", () => {
  it.each([
    ["an account SAS", () => accountSas()],
    ["a SAS of the container", () => containerSas(container)],
  ])("is there with its bytes, type, MD5 and our checksum, by %s", async (_name, sas) => {
    expect(await write(open(sas()))).toEqual(delivered());
    expect(await control.objects()).toMatchObject([
      { key: KEY, puts: 1, contentType: "application/gzip", meta: { "x-amz-meta-logshipsha256": object().sha256 } },
    ]);
    const [put] = await control.requests();
    expect(put?.headers).toMatchObject({
      "content-length": "11",
      "content-md5": createHash("md5").update(BYTES).digest("base64"),
      "if-none-match": "*",
      "x-ms-blob-type": "BlockBlob",
      "x-ms-version": "2021-12-02",
    });
    // Stored unchecked, it would be shown in place of the MD5 of what is kept.
    expect(Object.keys(put?.headers ?? {})).not.toContain("x-ms-blob-content-md5");
    expect(await seen()).toEqual(["PUT 201"]);
  });

  it.each(["c", "w", "cw"])("is there after a lost answer, for a SAS that may not look: sp=%s", async (permissions) => {
    const to = open(accountSas(permissions));
    await control.script([rule({ do: "reset", when: "after" }, { method: "PUT" }, 1)]);
    expect(await write(to)).toMatchObject({ kind: "failed", error: { kind: "unreachable" } });
    expect(await write(to, AGAIN)).toEqual(delivered(false));
    expect(await control.puts()).toHaveLength(1);
    expect((await seen()).slice(1)).toEqual(["HEAD 403", permissions === "c" ? "PUT 403" : "PUT 409", "HEAD 403"]);
  });

  it.each([
    ["LeaseIdMissing", 412],
    ["BlobImmutableDueToPolicy", 409],
    ["BlobImmutableDueToLegalHold", 409],
    ["UnauthorizedBlobOverwrite", 403],
  ])("that is locked is looked at: %s", async (code, status) => {
    const to = open(accountSas());
    await write(to);
    await control.script([rule({ do: "answer", status, code }, { method: "PUT" })]);
    expect(await write(to)).toEqual(delivered());
    expect(await write(to, FIRST, encodeUtf8("of another log"))).toEqual({ kind: "key_taken" });
  });
});

describe("an answer", () => {
  const failed = (kind: string, words: string) => ({ kind: "failed", error: { kind, words } });
  it.each([
    [409, "ContainerBeingDeleted", "busy"],
    [409, "ContainerDisabled", "misconfigured"],
    [409, undefined, "busy"],
    [400, "Md5Mismatch", "busy"],
    [404, "ContainerNotFound", "misconfigured"],
    [403, "AuthenticationFailed", "misconfigured"],
    [400, "InvalidResourceName", "misconfigured"],
  ])("to a PUT, HTTP %i %s, says that it is %s", async (status, code, kind) => {
    await control.script([rule({ do: "answer", status, ...(code !== undefined && { code }) }, { method: "PUT" })]);
    const words = code === undefined ? `HTTP ${status}` : `HTTP ${status} ${code}`;
    expect(await write(open(accountSas()))).toMatchObject(failed(kind, words));
    expect(await write(open(accountSas()), AGAIN)).toMatchObject(failed(kind, words));
  });

  it("of 413 is about this object, while a small one is taken", async () => {
    await control.script([
      rule({ do: "answer", status: 413, code: "RequestBodyTooLarge" }, { keyIncludes: ".log.gz" }),
    ]);
    expect(await write(open(accountSas()))).toMatchObject(failed("refused", "HTTP 413 RequestBodyTooLarge"));
  });

  it("without a body is read by its header: HEAD and GET", async () => {
    const to = open(accountSas("c"));
    expect(await to.stands(object())).toBe("unknown");
    expect(await to.read(KEY)).toMatchObject({ why: "forbidden", words: "HTTP 403 AuthorizationPermissionMismatch" });
    expect(await open(accountSas()).read(KEY)).toMatchObject({ why: "gone", words: "HTTP 404 BlobNotFound" });
    await control.script([rule({ do: "answer", status: 404, code: "ContainerNotFound" })]);
    expect(await open(accountSas()).read(KEY)).toMatchObject({ why: "no_bucket" });
  });

  it("of the past or of another key is a refusal of the SAS", async () => {
    for (const sas of [accountSas("rcw", { se: "2026-01-01" }), containerSas("another"), `${accountSas()}AA`])
      expect(await write(open(sas))).toMatchObject(failed("misconfigured", "HTTP 403 AuthenticationFailed"));
  });
});

describe("what is written for other ends", () => {
  it.each(["w", "cw", "rcw", "c", "rc"])("shows that the condition is honoured, for sp=%s", async (permissions) => {
    const outcome = await write(open(accountSas(permissions)), { doubtful: false, leaveOut: 0 });
    expect(outcome).toEqual({ ...delivered(), leaveOut: CONDITION.believed });
    expect((await seen()).slice(1)).toEqual([permissions.includes("w") ? "PUT 409" : "PUT 403", "PUT 201"]);
  });

  it.each(["w", "cw", "rcw", "c", "rc"])("shows as often as asked that sp=%s may write", async (permissions) => {
    const to = open(accountSas(permissions));
    expect([await to.probe(), await to.probe()]).toEqual([null, null]);
    expect([await to.challenge("logs/proof.txt", "a token")]).toEqual([null]);
    const keys = (await control.objects()).map(({ key }) => key);
    expect(keys).toEqual(["logs/00010101/test.txt.gz", "logs/proof.txt"]);
  });
});

describe("an emulator", () => {
  // https://github.com/Azure/Azurite/blob/main/src/blob/authentication/BlobSASAuthenticator.ts
  it("says of a blob that may not be written over that the SAS lacks a permission", async () => {
    const to = open(accountSas("rc"));
    await write(to);
    await control.script([
      rule({ do: "answer", status: 403, code: "AuthorizationPermissionMismatch" }, { method: "PUT" }),
    ]);
    expect(await write(to)).toEqual(delivered());
    // A SAS that may write over blobs is refused for something else.
    expect(await write(open(accountSas("rcw")))).toMatchObject({ error: { kind: "misconfigured" } });
  });
});
