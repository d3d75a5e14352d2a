/** A user of the form of a new job, with a bucket of the scripted S3 endpoint. */
import { inject } from "vitest";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { type Bucket, freshBucket } from "../api/harness.ts";
import { untouched } from "./browser-form.ts";
import { type Shown, Visitor } from "./support.ts";

/** Fields of a destination under the names that its form gives them. */
export function entered(fields: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`destination-${name}`, value]));
}

/** The form of an S3 destination. @param more its fields, or others of the form. */
export function s3Form(bucket: string, more: Record<string, string> = {}): Record<string, string> {
  const fields = { bucket, path: "logs/{DATE}", region: "auto", endpoint: inject("s3Url"), credentials: "keys" };
  const keys = { access_key_id: ACCESS_KEY, secret_access_key: SECRET_KEY, secret_name: "" };
  const own = Object.entries({ ...fields, ...keys });
  const [ofDestination, others] = [true, false].map((isOwn) =>
    Object.fromEntries(Object.entries(more).filter(([name]) => own.some(([each]) => each === name) === isOwn)),
  );
  return { scheme: "s3", ...entered({ ...Object.fromEntries(own), ...ofDestination }), ...others };
}

/** What is sent of the keys by a form that does not show them. */
export const UNSEEN = entered({ access_key_id: "", secret_access_key: "" });

export class Creator {
  readonly visitor: Visitor;
  readonly bucket: Bucket = freshBucket();
  readonly path: string;
  /** The last page, and every one so far. */
  page: Shown;
  readonly pages: string[] = [];

  private constructor(visitor: Visitor, path: string, page: Shown) {
    this.visitor = visitor;
    this.path = path;
    this.page = page;
    this.pages.push(page.html);
  }

  /** Opens the form. @param visitor a signed-in one; the admin by default. */
  static async begin(visitor?: Visitor, path = "/jobs/new"): Promise<Creator> {
    const who = visitor ?? (await Visitor.signedIn());
    return new Creator(who, path, await who.get(path));
  }

  /** Sends the form of the last page, with these fields changed, by one of its buttons. */
  async press(button: string, fields: Record<string, string> = {}): Promise<Shown> {
    const form = untouched(this.page.html, this.path.replaceAll("&", "&amp;"));
    for (const [name, value] of Object.entries({ ...fields, do: button })) form.set(name, value);
    const answer = await this.visitor.submit(this.path, form);
    if (answer.location === null) this.page = answer;
    this.pages.push(answer.html);
    return answer;
  }

  /** Enters the bucket, and presses a button. @param more fields of the destination. */
  s3(button: string, more: Record<string, string> = {}): Promise<Shown> {
    return this.press(button, s3Form(this.bucket.name, more));
  }
}

/** The fault that stands beside a field of the destination; undefined: none. */
export function besideField(html: string, field: string): string | undefined {
  return new RegExp(`<p class="error" id="field-destination-${field}-error">([^<]*)</p>`).exec(html)?.[1];
}
