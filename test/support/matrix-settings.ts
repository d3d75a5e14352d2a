/**
 * The environment variable in which `npm run faults` asks the tests for every row of the fault
 * matrix.
 */
export const WHOLE_MATRIX_VARIABLE = "LOGSHIP_WHOLE_MATRIX";
