/** A user of the wizard, with a bucket of the scripted S3 endpoint. */
import { expect, inject } from "vitest";
import { type Bucket, freshBucket } from "../api/harness.ts";
import { ACCESS_KEY, SECRET_KEY } from "../support/constants.ts";
import { untouched } from "./browser-form.ts";
import { type Shown, Visitor } from "./support.ts";

type Options = NonNullable<Parameters<typeof Visitor.signedIn>[1]>;

/** The form of an S3 destination. */
export function s3Form(bucket: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    scheme: "s3",
    bucket,
    path: "logs/{DATE}",
    region: "auto",
    endpoint: inject("s3Url"),
    credentials: "keys",
    access_key_id: ACCESS_KEY,
    secret_access_key: SECRET_KEY,
    secret_name: "",
    do: "continue",
    ...more,
  };
}

export class Creator {
  readonly visitor: Visitor;
  readonly bucket: Bucket;
  /** Path of the draft, without a step. */
  readonly base: string;
  /** Every page shown so far. */
  readonly pages: string[] = [];

  private constructor(visitor: Visitor, bucket: Bucket, base: string) {
    this.visitor = visitor;
    this.bucket = bucket;
    this.base = base;
  }

  /** @param visitor a signed-in one; the admin by default. */
  static async begin(options: Options & { visitor?: Visitor; kind?: string } = {}): Promise<Creator> {
    const visitor = options.visitor ?? (await Visitor.signedIn(undefined, options));
    const answer = await visitor.submit("/jobs/new", { kind: options.kind ?? "s3" });
    expect(answer.status).toBe(303);
    const base = /^(\/jobs\/new\/[\w-]{22})\/destination$/.exec(answer.location ?? "")?.[1];
    if (base === undefined) throw new Error(`no draft: ${answer.location}`);
    return new Creator(visitor, freshBucket(), base);
  }

  async get(step: string): Promise<Shown> {
    return this.#noted(await this.visitor.get(`${this.base}/${step}`));
  }

  async post(step: string, fields: Record<string, string> = {}): Promise<Shown> {
    return this.#noted(await this.visitor.submit(`${this.base}/${step}`, fields));
  }

  /** Sends a step and expects a redirect. @returns the next step. */
  async pass(step: string, fields: Record<string, string> = {}): Promise<string> {
    const { status, location, html } = await this.post(step, fields);
    expect([status, location, html]).toEqual([303, expect.any(String), ""]);
    return (location ?? "").replace(`${this.base}/`, "");
  }

  /** Sends the form of a step as shown, with these fields changed. */
  async send(step: string, fields: Record<string, string> = {}): Promise<Shown> {
    const { html } = await this.get(step);
    const form = untouched(html, `${this.base}/${step}`);
    form.set("do", "continue");
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return this.#noted(await this.visitor.submit(`${this.base}/${step}`, form));
  }

  /** Completes the first step. */
  async chooseBucket(more: Record<string, string> = {}): Promise<void> {
    expect(await this.pass("destination", s3Form(this.bucket.name, more))).toBe("records");
  }

  /** Completes all steps but the last. */
  async toTheEnd(more: Record<string, string> = {}): Promise<void> {
    await this.chooseBucket(more);
    expect((await this.send("records")).location).toBe(`${this.base}/output`);
    expect((await this.send("output", { name: "shop failures" })).location).toBe(`${this.base}/preview`);
    expect(await this.pass("preview")).toBe("ownership");
    expect(await this.pass("ownership", { do: "skip" })).toBe("finish");
  }

  #noted(shown: Shown): Shown {
    this.pages.push(shown.html);
    return shown;
  }
}
