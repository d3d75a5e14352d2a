/**
 * What modules of the tests remember during a test: each puts here how it forgets that, which
 * happens after every test. Files share modules, so a hook at the top of a module would be one of
 * the first file only that imports it.
 */
export const forgetting = new Set<() => void>();
