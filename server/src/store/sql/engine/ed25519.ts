import { hash, randomBytes } from "node:crypto"
import type { AuthPlugin } from "mysql2"

/**
 * MariaDB's authentication by ed25519, which the driver does not have: the answer to the server's 32 random bytes is their
 * signature (RFC 8032) with a key that is the password. The cryptography of Node takes no key of another length than 32 bytes.
 */
export const ed25519: AuthPlugin =
  ({ connection }) =>
  (challenge) =>
    // The packet ends with a zero.
    signature(String(connection.config.password ?? ""), challenge.subarray(0, 32))

export function signature(password: string, message: Buffer): Buffer {
  const digest = sha512(Buffer.from(password))
  // The lowest three bits and the highest one are 0, and the one below that is 1.
  const secret = (number(digest.subarray(0, 32)) & ~7n & (2n ** 254n - 1n)) | (2n ** 254n)
  const nonce = number(sha512(digest.subarray(32), message)) % order
  const commitment = encoded(multiple(nonce))
  const factor = number(sha512(commitment, encoded(multiple(secret)), message))
  return Buffer.concat([commitment, bytes((nonce + factor * secret) % order)])
}

// The curve -x² + y² = 1 + d·x²·y² over the integers modulo p, and its base point of prime order (RFC 8032, 5.1).
const p = 2n ** 255n - 19n
const order = 2n ** 252n + 27742317777372353535851937790883648493n
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n
const x = 15112221349535400772501151409588531511454012693041857206046113283949847762202n
const y = 46316835694926478169428394003475163141307993866256225615783033603165251855960n

/** A point in extended coordinates: x = X/Z, y = Y/Z, x·y = T/Z. */
type Point = readonly [X: bigint, Y: bigint, Z: bigint, T: bigint]
const base: Point = [x, y, 1n, (x * y) % p]

/**
 * Returns a multiple of the base point. The factor is secret: a random multiple of the order, which changes no result, hides it from
 * whoever measures the time.
 */
function multiple(factor: bigint): Point {
  let result: Point = [0n, 1n, 1n, 0n]
  const blinded = factor + order * number(randomBytes(16))
  for (const bit of blinded.toString(2)) {
    result = sum(result, result)
    if (bit === "1") result = sum(result, base)
  }
  return result
}

/** RFC 8032, 5.1.4. */
function sum([x1, y1, z1, t1]: Point, [x2, y2, z2, t2]: Point): Point {
  const [a, b] = [(y1 - x1) * (y2 - x2), (y1 + x1) * (y2 + x2)]
  const [c, e] = [((2n * d * t1) % p) * t2, 2n * z1 * z2]
  const [f, g, h, i] = [(b - a) % p, (e - c) % p, (e + c) % p, (b + a) % p]
  return [(f * g) % p, (h * i) % p, (g * h) % p, (f * i) % p]
}

function encoded([X, Y, Z]: Point): Buffer {
  const inverse = power(Z, p - 2n)
  const [x, y] = [modulo(X * inverse), modulo(Y * inverse)]
  return bytes(y | ((x & 1n) << 255n))
}

function power(root: bigint, exponent: bigint): bigint {
  let result = 1n
  for (const bit of exponent.toString(2)) result = (((result * result) % p) * (bit === "1" ? root : 1n)) % p
  return result
}

/** The remainder from 0 to p, because that of a negative number is negative. */
const modulo = (n: bigint) => ((n % p) + p) % p
const sha512 = (...parts: Buffer[]) => hash("sha512", Buffer.concat(parts), "buffer")
/** Numbers are little-endian. */
const number = (from: Buffer) => BigInt(`0x${Buffer.from(from).reverse().toString("hex")}`)
const bytes = (n: bigint) => Buffer.from(n.toString(16).padStart(64, "0"), "hex").reverse()
