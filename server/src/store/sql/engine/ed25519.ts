import { hash } from "node:crypto"
import { ed25519 as curve } from "@noble/curves/ed25519.js"
import type { AuthPlugin } from "mysql2"

/**
 * MariaDB's authentication by ed25519, which the driver does not have: the answer to the server's 32 random bytes is their
 * signature (RFC 8032) with a key that is the password. Neither Node nor the library signs with a key of another length than 32 bytes.
 */
export const ed25519: AuthPlugin =
  ({ connection }) =>
  (challenge) =>
    // The packet ends with a zero.
    signature(String(connection.config.password ?? ""), challenge.subarray(0, 32))

const { BASE, Fn } = curve.Point

export function signature(password: string, message: Buffer): Buffer {
  const digest = sha512(Buffer.from(password))
  const head = digest.subarray(0, 32)
  head[0] = (head[0] as number) & 0xf8
  head[31] = ((head[31] as number) & 0x7f) | 0x40
  const secret = Fn.create(number(head))
  const nonce = Fn.create(number(sha512(digest.subarray(32), message)))
  const commitment = BASE.multiply(nonce).toBytes()
  const factor = number(sha512(commitment, BASE.multiply(secret).toBytes(), message))
  return Buffer.concat([commitment, Fn.toBytes(Fn.create(nonce + factor * secret))])
}

const sha512 = (...parts: Uint8Array[]) => hash("sha512", Buffer.concat(parts), "buffer")
/** Numbers are little-endian. */
const number = (from: Buffer) => BigInt(`0x${Buffer.from(from).reverse().toString("hex")}`)
