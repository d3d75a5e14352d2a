import { describe, expect, it } from "vitest";
import { answerIn, remedyFor } from "../../../src/ship/destinations/remedies.ts";

const RIGHTS = "or its secret is wrong";
const TEMPORARY = "temporary one or has expired";
const ELSEWHERE = "in another region or behind another endpoint";
const SETTING = "has sse, leave it out";
const TOO_LARGE = "Lower max_upload_bytes";
const CHANGED = "proxy in front of the store that changes";
const UNPAID = "closed the account";
const FULL = "disks are full";
const DOWN = "Nothing answers at this endpoint";
const UNTRUSTED = "certificate is not trusted";
const LONG_KEY = "Choose a shorter path";
const BUSY = "it is busy, or limits";
const NO_STORE = "Neither an S3 interface nor a log receiver";

/** What stores really answer, and the part of the advice that is about that alone. */
const TABLE: readonly (readonly [said: string, advice: string])[] = [
  // Keys.
  ["HTTP 403 InvalidAccessKeyId", "does not know this access key ID"],
  ["HTTP 404 XAdminUserNotFound", "does not know this access key ID"],
  ["HTTP 403 SignatureDoesNotMatch", "does not match the access key ID"],
  ["HTTP 403 AccessDenied", RIGHTS],
  ["HTTP 403", RIGHTS],
  ["HTTP 401 Unauthorized", "does not recognise the key"],
  ["HTTP 400 InvalidArgument", "key and secret are complete"],
  ["HTTP 400 ExpiredToken", TEMPORARY],
  ["HTTP 403 InvalidToken", TEMPORARY],
  ["HTTP 403 RequestTimeTooSkewed", "clock"],
  ["HTTP 403 RequestExpired", "clock"],
  ["HTTP 403 AccountProblem", UNPAID],
  ["HTTP 403 UserSuspended", UNPAID],
  ["HTTP 402", UNPAID],
  // Where.
  ["HTTP 400 AuthorizationHeaderMalformed", "bucket is in another region"],
  ["HTTP 400 AuthorizationHeaderMalformed (region eu-west-1)", "says that it is eu-west-1"],
  ["HTTP 301 PermanentRedirect (region eu-west-1)", "says that it is eu-west-1"],
  ["HTTP 301 PermanentRedirect", ELSEWHERE],
  ["HTTP 307 TemporaryRedirect", ELSEWHERE],
  ["HTTP 302", ELSEWHERE],
  ["HTTP 400 InvalidRegionName", "does not know this region"],
  ["HTTP 404 NoSuchBucket", "no bucket with this name"],
  ["HTTP 404 NoSuchKey", "cannot find"],
  ["HTTP 400 InvalidBucketName", "does not accept this bucket name"],
  ["HTTP 405 MethodNotAllowed", NO_STORE],
  ["HTTP 405", NO_STORE],
  ["HTTP 407", "proxy"],
  // Of Google.
  ["HTTP 400 ExcessHeaderValues", "adds S3 headers"],
  ["HTTP 400 UserProjectMissing", "makes requesters pay"],
  ["HTTP 403 RetentionPolicyNotMet", "object lock, a retention rule"],
  ["HTTP 403 ObjectUnderActiveHold", "object lock, a retention rule"],
  ["HTTP 400 CloudKmsDisabledKey", "bucket's encryption key"],
  ["HTTP 400 KeyTooLong", LONG_KEY],
  // Of R2 through a binding.
  ["HTTP 403 ObjectLockedByBucketPolicy", "object lock, a retention rule"],
  ["HTTP 403 NotEntitled", "R2 is not enabled"],
  ["HTTP 400 InvalidObjectName", LONG_KEY],
  ["HTTP 400 MetadataTooLarge", "metadata"],
  // What is sent.
  ["HTTP 400 InvalidRequest", SETTING],
  ["HTTP 501 NotImplemented", SETTING],
  ["HTTP 400 InvalidEncryptionAlgorithmError", SETTING],
  ["HTTP 400 KMS.DisabledException", "bucket's encryption key"],
  ["HTTP 400 KMS.NotFoundException", "bucket's encryption key"],
  ["HTTP 400 EntityTooLarge", TOO_LARGE],
  ["HTTP 413", TOO_LARGE],
  ["HTTP 400 KeyTooLongError", LONG_KEY],
  ["HTTP 400 XMinioInvalidObjectName", LONG_KEY],
  ["HTTP 400 BadDigest", CHANGED],
  ["HTTP 400 XAmzContentSHA256Mismatch", CHANGED],
  ["HTTP 411 MissingContentLength", CHANGED],
  ["HTTP 400 SomethingNew", "Check bucket, region and endpoint"],
  // Room.
  ["HTTP 403 QuotaExceeded", "quota"],
  ["HTTP 400 XMinioAdminBucketQuotaExceeded", "quota"],
  ["HTTP 507 XMinioStorageFull", FULL],
  ["HTTP 507", FULL],
  ["HTTP 403 ObjectLocked", "object lock"],
  // Of Azure.
  ["HTTP 403 AuthenticationFailed", "The SAS has expired"],
  ["HTTP 401 NoAuthenticationInformation", "The SAS has expired"],
  ["HTTP 403 AuthorizationFailure", "firewall"],
  ["HTTP 403 AuthorizationSourceIPMismatch", "firewall"],
  ["HTTP 403 AuthorizationPermissionMismatch", "sp=rcw"],
  ["HTTP 403 AuthorizationResourceTypeMismatch", "srt=o"],
  ["HTTP 403 AuthorizationServiceMismatch", "ss=b"],
  ["HTTP 403 AuthorizationProtocolMismatch", "https only"],
  ["HTTP 403 UnauthorizedBlobOverwrite", "not overwrite them"],
  ["HTTP 403 KeyBasedAuthenticationNotPermitted", "user delegation SAS"],
  ["HTTP 403 AccountIsDisabled", "is disabled"],
  ["HTTP 409 ContainerDisabled", "is disabled"],
  ["HTTP 409 ContainerBeingDeleted", "being deleted"],
  ["HTTP 404 ContainerNotFound", "no container of this name"],
  ["HTTP 404 ResourceNotFound", "no container of this name"],
  ["HTTP 400 InvalidResourceName", "spelling"],
  ["HTTP 400 Md5Mismatch", CHANGED],
  ["HTTP 413 RequestBodyTooLarge", TOO_LARGE],
  ["HTTP 409 BlobImmutableDueToPolicy", "retention rule"],
  ["HTTP 503 ServerBusy", BUSY],
  // Receivers.
  ["HTTP 260 blocked_ingestion", "block_ingestion_until"],
  ["HTTP 260", "block_ingestion_until"],
  ["HTTP 400 too_far_behind", "time_sharding_enabled"],
  ["HTTP 429 per_stream_rate_limit", "ingestion_rate_mb"],
  ["HTTP 403 ACCESS_DENIED", "GRANT INSERT"],
  ["HTTP 404 UNKNOWN_TABLE", "no such table"],
  ["HTTP 500 TOO_MANY_PARTS", "too busy to insert"],
  ["HTTP 200 MEMORY_LIMIT_EXCEEDED", "too busy to insert"],
  ["HTTP 200, but records were rejected", "without saying which"],
  ["HTTP 200, but events failed", "without saying which"],
  ["HTTP 200, but not as an OTLP receiver answers", "Something else answers"],
  ["HTTP 200, but not the empty answer of an insert", "Something else answers"],
  ["older than the 168 hours that Loki takes", "send them to another destination"],
  // The moment.
  ["HTTP 503 SlowDown", BUSY],
  ["HTTP 429", BUSY],
  ["HTTP 503", BUSY],
  ["HTTP 500 InternalError", "itself fails"],
  // What the platform's network says instead of an origin.
  ["HTTP 521", DOWN],
  ["HTTP 525", UNTRUSTED],
  ["HTTP 526", UNTRUSTED],
  ["HTTP 530", "host name is unknown"],
  // What receivers answer.
  ["HTTP 401 Datadog", "header_DD-API-KEY"],
  ["HTTP 403 Datadog", "that of your site"],
  ["HTTP 404 Datadog", "api/v2/logs"],
  ["HTTP 413 Datadog", "proxy"],
  ["HTTP 503 Datadog", BUSY],
  ["HTTP 403 NewRelic", "license key"],
  ["HTTP 429 NewRelic", "limits requests or bytes"],
  ["HTTP 403 Splunk.4", "does not know the token"],
  ["HTTP 403 Splunk.1", "it is disabled"],
  ["HTTP 401 Splunk.2", "Splunk%20<token>"],
  ["HTTP 401 Splunk.3", "Splunk%20<token>"],
  ["HTTP 400 Splunk.6", "changes requests"],
  ["HTTP 400 Splunk.7", "may not write to this index"],
  ["HTTP 400 Splunk.10", "indexer acknowledgement"],
  ["HTTP 400 Splunk.11", "channel=<a GUID>"],
  ["HTTP 400 Splunk.15", "logship_id"],
  ["HTTP 404 Splunk", "No HTTP Event Collector"],
  ["HTTP 413 Splunk", "max_content_length"],
  ["HTTP 503 Splunk.9", "queues are full"],
  ["HTTP 401 Sumo", "code at the end of the address"],
  ["HTTP 429 Sumo", "throttles this account"],
  // No answer.
  ["connection failed: nothing listens at this port, or it hung up", DOWN],
  ["connection failed: its certificate is not trusted, has expired or is for another name", UNTRUSTED],
  ["connection failed: the host name is unknown", "host name is unknown"],
  ["connection failed: it speaks http, not https", "speaks plain http"],
  ["connection failed: it speaks https, not http", "Write it with https://"],
  ["connection failed", DOWN],
  ["no answer in time", "No answer in time"],
  ["HTTP 200, but the object is not there", "does not keep what it accepts"],
  ["the store keeps 3 of 9 bytes", "does not keep what it accepts"],
];

describe("advice", () => {
  it.each(TABLE)("on %s", (said, advice) => {
    for (const message of [`error writing object: error uploading: ${said}`, `parked: ${said}; nothing is lost`])
      expect(remedyFor(message)).toContain(advice);
  });

  it("is a sentence for whatever a store may say, and none of its own names", () => {
    const codes = [
      "",
      " constructor",
      " toString",
      " __proto__",
      " Splunk.constructor",
      " Datadog.7",
      ' <Code attr="x">',
      " (region ../x)",
    ];
    for (let status = 300; status < 600; status++)
      for (const code of codes) {
        const remedy = remedyFor(`HTTP ${status}${code}`);
        expect(remedy).toMatch(/^[A-Z].*\.$/);
        expect(remedy).not.toMatch(/constructor|toString|__|attr|\.\./);
      }
  });

  it("is none where nothing is known", () => {
    for (const message of [null, "", "x", "HTTP 40", "anything that a record says"])
      expect(remedyFor(message)).toBeNull();
  });
});

describe("an answer in a message", () => {
  const none = { code: null, region: null };
  const LONG = ["abcdefghijkl", "abcdefghijkl", "abcdefghijkl"].join("-");
  it.each([
    ["parked: HTTP 403 AccessDenied; secret=hunter2", { ...none, status: 403, code: "AccessDenied" }],
    ["HTTP 403 <Code>", { ...none, status: 403 }],
    ["HTTP 400 KMS.DisabledException.", { ...none, status: 400, code: "KMS.DisabledException" }],
    ["HTTP 404 NoSuchBucket.", { ...none, status: 404, code: "NoSuchBucket" }],
    ["HTTP 301 (region eu-west-1); x", { ...none, status: 301, region: "eu-west-1" }],
    ["HTTP 301 (region RegionOne)", { ...none, status: 301, region: "RegionOne" }],
    [`HTTP 301 (region ${LONG})`, { ...none, status: 301, region: LONG }],
    ["HTTP 301 (region EU<b>)", { ...none, status: 301 }],
    ["HTTP 40", null],
    [null, null],
  ])("is its status, its code and its region alone: %s", (message, answer) =>
    expect(answerIn(message)).toEqual(answer),
  );
});
