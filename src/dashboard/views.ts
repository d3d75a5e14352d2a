/** What the API answers, as pages read it: the documents of the routes (src/api/docs) say what each field means. */

export interface JobView {
  id: number;
  dataset: string;
  name: string | null;
  enabled: boolean;
  /** Secrets are `****`. */
  destination_conf: string;
  output_options?: { field_names?: string[]; [option: string]: unknown };
  filter: string | null;
  max_upload_bytes: number | null;
  max_upload_records: number | null;
  max_upload_interval_seconds: number | null;
  canary?: boolean;
  last_complete: string | null;
  last_error: string | null;
  error_message: string | null;
  time_created: string;
  time_modified: string;
  [more: string]: unknown;
}
