/** An uploaded function script, read from its multipart form. */
export interface Upload {
  /** `metadata` as sent, with what only the platform reads. */
  metadata: { readonly [key: string]: unknown };
  /** Name of one of the modules. */
  mainModule: string;
  /** `logship` or `logpush`; false without either. */
  ships: boolean;
  modules: readonly Module[];
}

/** One file part: a module, named by its filename. */
export interface Module {
  name: string;
  /** As sent, lower case, without parameters: `application/javascript+module`. */
  type: string;
  bytes: Uint8Array;
}
