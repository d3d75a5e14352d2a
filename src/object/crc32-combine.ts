/**
 * CRC-32 of a concatenation from the CRCs of its parts, without their bytes: appending n bytes
 * multiplies a CRC by x^(8n) in GF(2)[x] modulo the CRC-32 polynomial (RFC 1952, section 8).
 * Polynomials are held reflected, x^0 in the highest bit, as CRC-32 itself is.
 */
const POLYNOMIAL = 0xedb88320;

function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) !== 0 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
  }
  return product >>> 0;
}

/** x^(8·2^k) for k = 0…52: lengths are safe integers. */
const POWERS: readonly number[] = (() => {
  const powers: number[] = [];
  // x^8, reflected.
  let power = 0x00800000;
  for (let k = 0; k < 53; k++) {
    powers.push(power);
    power = multiply(power, power);
  }
  return powers;
})();

/**
 * @param head CRC-32 of the first part.
 * @param tail CRC-32 of the second part.
 * @param tailBytes length of the second part in bytes, a safe integer ≥ 0.
 */
export function crc32Combine(head: number, tail: number, tailBytes: number): number {
  let shift = 0x80000000; // x^0
  for (let k = 0, rest = tailBytes; rest > 0; k++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) shift = multiply(shift, POWERS[k] as number);
  }
  return (multiply(head, shift) ^ tail) >>> 0;
}
