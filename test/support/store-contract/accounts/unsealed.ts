import { createDecipheriv } from "node:crypto"
import { encryptionKeys } from "../context.js"

const sealedColumns = ["access_token", "refresh_token", "id_token", "extra"] as const

/** Decrypts the sealed values of a row of `accounts`. It does not use the store's code but the documented format. */
export function unsealed(row: Record<string, unknown>): Record<string, unknown> {
  const result = { ...row }
  for (const column of sealedColumns) {
    const value = column === "extra" ? JSON.parse(String(row.extra)) : row[column]
    if (typeof value === "string") result[column] = open(value, contextOf(row, column))
  }
  return result
}

function contextOf(row: Record<string, unknown>, column: string): string {
  return JSON.stringify([row.tenant, row.provider, row.provider_account_id, row.user_id, column])
}

function open(value: string, context: string): string {
  const [, text] = /^sealed\.1\.[\w-]{8}\.([\w-]+)$/.exec(value) ?? []
  if (text === undefined) throw new Error("the value is not sealed")
  const bytes = Buffer.from(text, "base64url")
  const decipher = createDecipheriv("aes-256-gcm", encryptionKeys[0] as Buffer, bytes.subarray(0, 12))
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString()
}
