import {
  CreateAuthenticatorRequestSchema,
  CreateSessionRequestSchema,
  CreateUserRequestSchema,
  CreateVerificationTokenRequestSchema,
  LinkAccountRequestSchema,
} from "@authwire/proto"
import { getOption, ScalarType } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { field as fieldRules } from "../../gen/ts/src/buf/validate/validate_pb.js"
import { serverTypes } from "../../server/src/store/sql/schema/column-types.js"
import { entities } from "../../server/src/store/sql/schema/entities.js"

const tables = entities(serverTypes)
const writes = [
  [CreateUserRequestSchema, tables.users],
  [LinkAccountRequestSchema, tables.accounts],
  [CreateSessionRequestSchema, tables.sessions],
  [CreateVerificationTokenRequestSchema, tables.verificationTokens],
  [CreateAuthenticatorRequestSchema, tables.authenticators],
] as const

/** Returns how many bytes of UTF-8, and how many characters, a column can store on MySQL. */
function width(type: unknown, length: unknown): { bytes: number; characters: number } {
  switch (type) {
    case "varbinary":
      return { bytes: Number(length), characters: Math.floor(Number(length) / 4) }
    case "varchar":
      return { bytes: Number(length), characters: Number(length) }
    case "text":
      return { bytes: 65_535, characters: 16_383 }
    case "mediumtext":
      return { bytes: 16_777_215, characters: 4_194_303 }
    default:
      throw new Error(`how wide is ${String(type)}?`)
  }
}

// Every string that a request stores, with its column. Session and verification tokens are stored only as hashes, and an etag is only compared.
const strings = writes.flatMap(([message, table]) =>
  message.fields
    .filter((field) => field.fieldKind === "scalar" && field.scalar === ScalarType.STRING)
    .filter((field) => !["session_token", "token", "etag"].includes(field.name))
    .map((field) => ({ field, columns: Object.values(table.options.columns) })),
)

describe("a column is at least as wide as the limit of its field", () => {
  test.each(strings.map((one) => [`${one.field.parent.name}.${one.field.name}`, one] as const))(
    "%s",
    (_, { field, columns }) => {
      const column = columns.find((one) => one?.name === field.name)
      expect(column).toBeDefined()
      const rules = getOption(field, fieldRules).type
      if (rules.case !== "string") throw new Error("has no limit")
      const { maxBytes, maxLen } = rules.value
      const space = width(column?.type, column?.length)
      expect(maxBytes + maxLen).toBeGreaterThan(0n)
      expect(space.bytes).toBeGreaterThanOrEqual(Number(maxBytes))
      expect(space.characters).toBeGreaterThanOrEqual(Number(maxLen))
    },
  )

  test("the key of an e-mail address is as wide as an address of four-byte characters", () => {
    const key = tables.users.options.columns.emailKey
    const rules = getOption(CreateUserRequestSchema.field.email, fieldRules).type
    expect(rules.case === "string" && Number(rules.value.maxLen) * 4).toBeLessThanOrEqual(Number(key?.length))
  })

  test("every key fits into an index of InnoDB", () => {
    for (const table of Object.values(tables)) {
      // A column without a length is a number of eight bytes.
      const primary = Object.values(table.options.columns).filter((column) => column?.primary === true)
      const bytes = primary.reduce((sum, column) => sum + Number(column?.length ?? 8), 0)
      expect(bytes).toBeLessThanOrEqual(3072)
    }
  })
})
