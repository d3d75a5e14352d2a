/** What a module is to the worker loader. */
export type ModuleKind = "js" | "cjs" | "text" | "data" | "json" | "wasm";

export interface LocalModule {
  name: string;
  kind: ModuleKind;
  bytes: Uint8Array;
}

/** A function as the function host runs it. */
export interface LocalCode {
  mainModule: string;
  compatibilityDate: string;
  compatibilityFlags: string[];
  modules: LocalModule[];
}

/** A function that runs locally, and the version of its upload. */
export interface StoredCode {
  version: string;
  code: LocalCode;
}
