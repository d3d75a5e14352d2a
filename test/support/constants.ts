/**
 * Bindings that vitest.config.ts gives the worker under test, and credentials that the scripted S3
 * endpoint accepts.
 */
export const ACCOUNT = "test-account";
export const ADMIN_TOKEN = "admin-token-of-the-tests";
export const ACCESS_KEY = "test-access-key";
export const SECRET_KEY = "test-secret-key";
