/**
 * A scripted S3 endpoint on 127.0.0.1 for tests: path-style PUT, GET, HEAD, DELETE and
 * ListObjectsV2, and the same of Google (google-dialect.ts) and, below the account of Azure's
 * emulators, of Azure (azure-dialect.ts). A bucket exists once it is named. Every request's
 * signature and body hash are verified, and each bucket has a script of faults (s3-script.ts).
 * Methods give its requests and objects. So does HTTP below `/__control/<bucket>/`, for tests that
 * have only `fetch`
 * (s3-control.ts is the client):
 *
 * | request | answer |
 * | --- | --- |
 * | `PUT script` with `Rule[]` | 204 |
 * | `GET requests` | `SeenRequest[]`, in order of arrival |
 * | `GET objects` | `ObjectSummary[]`, sorted by key |
 * | `GET puts` | `PutSummary[]`, every successful PUT in order |
 * | `GET object?key=&version=` | the bytes; without `version` those the key has now; 404 |
 * | `GET held?count=` | 204 once this many requests are held at once; 408 after 60 s |
 * | `POST release` | `{released}` |
 * | `DELETE` of `/__control/<bucket>` | 204; forgets script, objects and requests; held requests are reset |
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  asAzureAnswer,
  asS3Headers,
  azureFault,
  isAzurePath,
  permissionFault,
  withoutAccount,
} from "./azure-dialect.ts";
import { fromGoogle, googleFault, isGoogle, toGoogle } from "./google-dialect.ts";
import { checksum, Receiver } from "./receiver.ts";
import { type Answer, answer, Bucket, faultAnswer, type Operation, summarise } from "./s3-bucket.ts";
import type { Action, ObjectSummary, PutSummary, Rule, SeenRequest } from "./s3-script.ts";
import { MAX_SKEW_MS, readScope, refused, type S3Fault, signatureFault } from "./s3-signature.ts";

export interface S3ServerOptions {
  /**
   * Allowed difference between a request's time and the server's, in ms; Infinity for clients with
   * a test's clock.
   */
  readonly maxSkewMs?: number;
  /** Accepts `UNSIGNED-PAYLOAD` as a body hash; otherwise it is refused with 400. */
  readonly allowUnsignedPayload?: boolean;
}

export interface S3Server {
  /** `http://127.0.0.1:<port>`: the S3 endpoint and, below `/__control/`, the controls. */
  readonly url: string;
  script(bucket: string, rules: readonly Rule[]): void;
  requests(bucket: string): SeenRequest[];
  objects(bucket: string): ObjectSummary[];
  puts(bucket: string): PutSummary[];
  object(bucket: string, key: string, version?: number): Uint8Array | undefined;
  /** @returns how many requests were held. */
  release(bucket: string): number;
  /** @throws Error if there are not `count` requests held at once within 60 s. */
  whenHeld(bucket: string, count: number): Promise<void>;
  forget(bucket: string): void;
  /** Closes every connection; held requests are dropped. */
  close(): Promise<void>;
}

/** Secret access keys by access key id. */
export const DEFAULT_CREDENTIALS: Readonly<Record<string, string>> = { "test-access-key": "test-secret-key" };

/** The longest wait of `whenHeld`. */
const HELD_WAIT_MS = 60_000;

/**
 * Above the size of the largest object that a job may request (1,000,000,000 bytes, and gzip adds
 * little).
 */
const BODY_MAX_BYTES = 2 ** 31;

/** In ms, between two bytes of a trickled answer, unless its script says otherwise. */
const TRICKLE_EVERY_MS = 1000;

const CONTROL_PREFIX = "/__control/";

/** A request that is in order. */
interface Asked {
  operation: Operation;
  /** What its credentials do not allow, as things stand. */
  denies(): S3Fault | null;
  /** @param isScripted its code is the one to say. */
  say(result: Answer, isScripted?: boolean): void;
}

export async function startS3Server({
  maxSkewMs = MAX_SKEW_MS,
  allowUnsignedPayload = false,
}: S3ServerOptions = {}): Promise<S3Server> {
  const buckets = new Map<string, Bucket>();

  function bucketOf(name: string): Bucket {
    const bucket = buckets.get(name) ?? (name.startsWith("receiver-") ? new Receiver(name) : new Bucket(name));
    buckets.set(name, bucket);
    return bucket;
  }

  function forget(name: string): void {
    buckets.get(name)?.drop();
    buckets.delete(name);
  }

  async function handleS3(
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    const received = flatten(req.headers);
    const headers = isGoogle(received) ? fromGoogle(received) : received;
    const method = req.method ?? "";
    const isAzure = isAzurePath(path);
    const receiver = headers["x-receiver"];
    const {
      bucket: bucketName,
      key,
      malformed,
    } = receiver === undefined
      ? readTarget(isAzure ? withoutAccount(path) : path)
      : { bucket: receiver, key: `${path}/${headers["idempotency-key"] ?? ""}`, malformed: false };
    const bucket = bucketOf(bucketName);
    const seen = noteRequest(bucket, method, key, query, received);
    const say = (result: Answer, isScripted = false): void =>
      send(res, method, seen, isAzure ? asAzureAnswer(method, result, isScripted) : result);

    const wrongRequest = async (): Promise<S3Fault | null> => {
      if (receiver !== undefined) return null;
      if (malformed) return refused(400, "InvalidURI", "The path is not valid percent-encoded UTF-8 below a bucket.");
      if (isAzure) return azureFault({ method, container: bucketName, query, headers }, Date.now());
      const signed = isGoogle(received)
        ? googleFault({ method, path, query, headers: received }, DEFAULT_CREDENTIALS)
        : await signatureFault({ method, path, query, headers }, DEFAULT_CREDENTIALS, Date.now(), maxSkewMs);
      return signed ?? headerFault(method, headers, allowUnsignedPayload);
    };
    const fault = await wrongRequest();
    if (fault !== null) {
      if ((await readBody(req, 0)) === null) return abort(seen);
      return say(faultAnswer(fault));
    }

    let action = bucket.takeAction(method, key, headers);
    seen.action = action?.do ?? null;
    if (action?.do === "reset" && action.when === "before") return reset(req, seen);

    const length = Number(headers["content-length"] ?? 0);
    const untilBytes = action?.do === "reset" && action.when === "during" ? Math.ceil(length / 2) : null;
    const body = await readBody(req, length, untilBytes);
    if (untilBytes !== null) return reset(req, seen);
    if (body === null) return abort(seen);
    action ??= bucket.takeAction(method, key, headers, body);
    seen.action = action?.do ?? null;
    if (receiver !== undefined) seen.headers["content-sha256"] = checksum(body);
    const wrongBody = isAzure ? md5Fault(body, headers) : bodyFault(body, headers);
    const mismatch = receiver !== undefined ? null : wrongBody;
    if (mismatch !== null) return say(faultAnswer(mismatch));

    const operation = isAzure
      ? { method, key, query: new URLSearchParams(), headers: asS3Headers(headers), body }
      : { method, key, query, headers, body };
    const denies = (): S3Fault | null =>
      isAzure ? permissionFault(method, query, bucket.get(key) !== undefined) : null;
    await act(action, { operation, denies, say }, bucket, seen, req, res);
  }

  async function act(
    action: Action | null,
    { operation, denies, say: reply }: Asked,
    bucket: Bucket,
    seen: SeenRequest,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<void> {
    function perform(changed: Partial<Operation> = {}, unconditional = false): Answer {
      const denied = denies();
      if (denied !== null) return faultAnswer(denied);
      const result = bucket.perform({ ...operation, ...changed }, Date.now(), unconditional);
      seen.stored = result.stored;
      return result;
    }
    switch (action?.do) {
      case undefined:
        return reply(perform());
      case "answer":
        if (action.store) perform();
        return reply(scriptedAnswer(action), true);
      case "reset":
        if (action.when === "after") perform();
        return reset(req, seen);
      case "hold":
        seen.state = "held";
        if ((await bucket.hold()) === "dropped") return reset(req, seen);
        seen.state = "open";
        return reply(perform());
      case "withhold": {
        const result = perform();
        seen.state = "held";
        const outcome = await bucket.hold(closed(res));
        if (outcome === "left") return abort(seen);
        return outcome === "dropped" ? reset(req, seen) : reply(result);
      }
      case "trickle": {
        if (action.store) perform();
        const { status, headers, body } = scriptedAnswer(action);
        seen.state = "held";
        seen.status = status;
        res.writeHead(status, headers).write(body || " ");
        const drops = setInterval(() => res.write(" "), action.everyMs ?? TRICKLE_EVERY_MS);
        const outcome = await bucket.hold(closed(res));
        clearInterval(drops);
        return outcome === "left" ? abort(seen) : reset(req, seen);
      }
      case "ignore-conditional":
        return reply(perform({}, true));
      case "create-only": {
        if (operation.method !== "PUT" || bucket.get(operation.key) === undefined) return reply(perform());
        const { status = 403 } = action;
        const code = status === 412 ? "PreconditionFailed" : "AccessDenied";
        return reply(faultAnswer({ status, code, message: "The key exists already." }));
      }
      case "redirect": {
        const { location, status = 307 } = action;
        const message = "Please use the endpoint in Location.";
        return reply(withMore(faultAnswer({ status, code: "TemporaryRedirect", message }), { location }));
      }
      case "truncate":
        return reply(perform({ body: operation.body.subarray(0, Math.floor(operation.body.length / 2)) }));
      case "discard":
        return reply(operation.method === "PUT" ? answer(200) : perform());
      case "drop-meta":
        return reply(withHeaders(perform({ headers: keep(operation.headers, isNoMeta) }), isNoMeta));
      case "own-etag": {
        const result = withHeaders(perform({ headers: keep(operation.headers, isNoMeta) }), isNoMeta);
        const { etag } = result.headers;
        if (etag === undefined) return reply(result);
        return reply(withMore(result, { etag: `"${createHash("md5").update(etag).digest("hex")}"` }));
      }
      case "wrong-etag":
        return reply(withMore(perform(), { etag: `"${"0".repeat(32)}"` }));
      case "refuse":
      case "limit":
      case "past":
      case "window":
        return reply(perform({ fault: action }));
      case "no-etag":
        return reply(withHeaders(perform(), (name) => name !== "etag"));
    }
  }

  async function handleControl(
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    const body = await readBody(req, Number(req.headers["content-length"] ?? 0));
    if (body === null) return;
    const [name = "", what = ""] = path.slice(CONTROL_PREFIX.length).split("/").map(decodeURIComponent);
    const bucket = bucketOf(name);
    switch (`${req.method} ${what}`) {
      case "PUT script":
        bucket.script(JSON.parse(body.toString("utf8")));
        return void res.writeHead(204).end();
      case "GET requests":
        return sendJson(res, 200, bucket.requests);
      case "GET objects":
        return sendJson(res, 200, bucket.summaries());
      case "GET puts":
        return sendJson(res, 200, bucket.puts.map(summarise));
      case "GET object": {
        const version = query.get("version");
        const bytes = findBytes(bucket, query.get("key") ?? "", version === null ? undefined : Number(version));
        if (bytes === undefined) return sendJson(res, 404, { error: "no such object" });
        return void res.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
      }
      case "GET held":
        return void res
          .writeHead((await bucket.whenHeld(Number(query.get("count") ?? 1), HELD_WAIT_MS)) ? 204 : 408)
          .end();
      case "POST release":
        return sendJson(res, 200, { released: bucket.release() });
      case "DELETE ":
        forget(name);
        return void res.writeHead(204).end();
      default:
        return sendJson(res, 404, { error: `no such control: ${req.method} ${what}` });
    }
  }

  const server = createServer((req, res) => {
    const [path = "", search = ""] = splitOnce(req.url ?? "", "?");
    const handle = path.startsWith(CONTROL_PREFIX) ? handleControl : handleS3;
    handle(req, res, path, new URLSearchParams(search)).catch((error: unknown) => {
      // A bug of this file, not of the code under test: log it, and send no answer that could pass
      // for a scripted one.
      console.error("s3-server:", error);
      req.socket.destroy();
    });
  });
  // If the server closes an idle connection while the client sends on it, the client sees a reset
  // that no script asked for.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    script: (bucket, rules) => bucketOf(bucket).script(rules),
    requests: (bucket) => structuredClone(bucketOf(bucket).requests),
    objects: (bucket) => bucketOf(bucket).summaries(),
    puts: (bucket) => bucketOf(bucket).puts.map(summarise),
    object: (bucket, key, version) => findBytes(bucketOf(bucket), key, version),
    release: (bucket) => bucketOf(bucket).release(),
    whenHeld: async (bucket, count) => {
      if (await bucketOf(bucket).whenHeld(count, HELD_WAIT_MS)) return;
      throw new Error(`fewer than ${count} requests were held in ${bucket} within ${HELD_WAIT_MS} ms`);
    },
    forget,
    close: () =>
      new Promise((resolve, reject) => {
        for (const name of [...buckets.keys()]) forget(name);
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

function noteRequest(
  bucket: Bucket,
  method: string,
  key: string,
  query: URLSearchParams,
  headers: Record<string, string>,
): SeenRequest {
  const scope = readScope(headers.authorization);
  const ofInterest = Object.entries(headers).filter(
    ([name]) => /^(content-|if-|x-amz-|x-goog-|x-ms-)/.test(name) && name !== "x-amz-security-token",
  );
  const seen: SeenRequest = {
    seq: bucket.requests.length + 1,
    method,
    key,
    query: Object.fromEntries([...query].filter(([name]) => name !== "sig")),
    headers: Object.fromEntries(ofInterest),
    accessKeyId: scope?.accessKeyId ?? null,
    region: scope?.region ?? null,
    action: null,
    state: "open",
    status: null,
    stored: false,
  };
  bucket.requests.push(seen);
  return seen;
}

/** What is wrong with the headers of a correctly signed request. */
function headerFault(method: string, headers: Record<string, string>, allowUnsignedPayload: boolean): S3Fault | null {
  const declared = headers["x-amz-content-sha256"] ?? "";
  if (!/^[0-9a-f]{64}$/.test(declared) && !(declared === "UNSIGNED-PAYLOAD" && allowUnsignedPayload)) {
    return refused(400, "InvalidRequest", "x-amz-content-sha256 must be the SHA-256 of the body.");
  }
  const length = headers["content-length"];
  if (length === undefined && (method === "PUT" || headers["transfer-encoding"] !== undefined)) {
    return refused(411, "MissingContentLength", "You must provide the Content-Length HTTP header.");
  }
  if (Number(length ?? 0) > BODY_MAX_BYTES) {
    return refused(400, "EntityTooLarge", "Your proposed upload is too large.");
  }
  return null;
}

function bodyFault(body: Buffer, headers: Record<string, string>): S3Fault | null {
  const declared = headers["x-amz-content-sha256"];
  if (declared !== "UNSIGNED-PAYLOAD" && createHash("sha256").update(body).digest("hex") !== declared) {
    return refused(400, "XAmzContentSHA256Mismatch", "The body is not the one that was signed.");
  }
  return md5Fault(body, headers);
}

function md5Fault(body: Buffer, headers: Record<string, string>): S3Fault | null {
  const md5 = headers["content-md5"];
  if (md5 !== undefined && createHash("md5").update(body).digest("base64") !== md5) {
    return refused(400, "BadDigest", "The Content-MD5 you specified did not match what we received.");
  }
  return null;
}

function scriptedAnswer(action: Extract<Action, { do: "answer" | "trickle" }>): Answer {
  const { status, code, message, headers = {}, body } = action;
  if (code === undefined) return answer(status, headers, body ?? "");
  const fault = withMore(faultAnswer({ status, code, message: message ?? code }), headers);
  return { ...fault, body: body ?? fault.body };
}

/** The answer with only those headers whose names pass. */
function withHeaders(answer: Answer, passes: (name: string) => boolean): Answer {
  return { ...answer, headers: keep(answer.headers, passes) };
}

function withMore(answer: Answer, headers: Answer["headers"]): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

function keep(headers: Readonly<Record<string, string>>, passes: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => passes(name)));
}

function isNoMeta(name: string): boolean {
  return !name.startsWith("x-amz-meta-");
}

/** Settles when nothing more can be sent: the client has hung up, or the answer is complete. */
function closed(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => res.once("close", resolve));
}

/**
 * Reads a body into one buffer of the announced length; bytes beyond it are dropped.
 * @param untilBytes stop after this many bytes and leave the rest unread.
 * @returns null if the sender hangs up first.
 */
function readBody(req: IncomingMessage, length: number, untilBytes: number | null = null): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const body = Buffer.allocUnsafe(length);
    let received = 0;
    req.on("data", (chunk: Buffer) => {
      received += chunk.copy(body, received, 0);
      if (untilBytes !== null && received >= untilBytes) {
        req.pause();
        resolve(body.subarray(0, received));
      }
    });
    req.on("end", () => resolve(body.subarray(0, received)));
    req.on("error", () => resolve(null));
    req.on("close", () => resolve(null));
  });
}

function send(res: ServerResponse, method: string, seen: SeenRequest, { status, headers: meant, body }: Answer): void {
  const headers = seen.headers["x-goog-date"] === undefined ? meant : toGoogle(meant);
  seen.state = "answered";
  seen.status = status;
  const bytes = Buffer.from(body);
  const bodiless = status === 204 || status === 304;
  res.writeHead(status, { ...headers, ...(bodiless ? {} : { "content-length": bytes.length }) });
  res.end(method === "HEAD" || bodiless ? undefined : bytes);
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function reset(req: IncomingMessage, seen: SeenRequest): void {
  seen.state = "reset";
  req.socket.resetAndDestroy();
}

function abort(seen: SeenRequest): void {
  seen.state = "aborted";
}

function findBytes(bucket: Bucket, key: string, version: number | undefined): Buffer | undefined {
  if (version === undefined) return bucket.get(key)?.bytes;
  return bucket.puts.find((put) => put.key === key && put.version === version)?.bytes;
}

/** `/<bucket>/<key…>`; the key is decoded as a whole, so an encoded slash is a slash of the key. */
function readTarget(path: string): { bucket: string; key: string; malformed: boolean } {
  try {
    const [bucket = "", key = ""] = splitOnce(path.slice(1), "/").map(decodeURIComponent);
    return { bucket, key, malformed: bucket === "" };
  } catch {
    return { bucket: "", key: "", malformed: true };
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function flatten(headers: IncomingMessage["headers"]): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}
