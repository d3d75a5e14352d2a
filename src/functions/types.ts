/** A function script as it is uploaded, read out of its multipart form. */
export interface Upload {
  /** `metadata` as it was sent: what the platform also takes is in it. */
  metadata: { readonly [key: string]: unknown };
  /** The name of one of the modules. */
  mainModule: string;
  /** `logship`, or `logpush`; false if there is neither. */
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
