import {
  CreateAuthenticatorRequestSchema,
  CreateSessionRequestSchema,
  CreateUserRequestSchema,
  CreateVerificationTokenRequestSchema,
  LinkAccountRequestSchema,
} from "@authwire/proto"
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf"
import { createValidator } from "@bufbuild/protovalidate"
import { jsonFault } from "../../services/json.js"
import { fromAccount, fromAuthenticator, fromSession, fromUser, fromVerificationToken } from "../../services/wire.js"
import { StoreError } from "../../store/error.js"
import { type BulkName, checkJsonSize } from "../../store/sql/index.js"
import type { Account, Authenticator, Extra, JsonValue, Session, User, VerificationToken } from "../../store/types.js"
import { fields } from "./layouts.js"

const validator = createValidator()

// What the service would say of the request that makes such a row: the rules of the schema, and the store's own.

export const brokenRules = {
  users: (user: User) => [
    ...broken(CreateUserRequestSchema, fromUser(withNamed("users", user))),
    ...brokenJson("extra", user.extra),
  ],
  accounts: (account: Account) => [
    ...broken(LinkAccountRequestSchema, fromAccount(withNamed("accounts", account))),
    ...brokenJson("extra", account.extra),
    ...brokenJson("authorization_details", account.authorization_details),
  ],
  sessions: (session: Session) => [
    ...broken(CreateSessionRequestSchema, fromSession(withNamed("sessions", session))),
    ...brokenJson("extra", session.extra),
  ],
  verificationTokens: (token: VerificationToken) =>
    broken(CreateVerificationTokenRequestSchema, fromVerificationToken(token)),
  authenticators: (authenticator: Authenticator) => [
    ...broken(CreateAuthenticatorRequestSchema, fromAuthenticator(withNamed("authenticators", authenticator))),
    ...brokenJson("extra", authenticator.extra),
  ],
}

/**
 * The row with only that part of its `extra` that the schema may reject: what has a name of the contract. The rule is an
 * expression, and to evaluate it for every name of every row takes longer than all the rest.
 */
function withNamed<T extends { extra: Extra }>(table: BulkName, row: T): T {
  const names = fields[table]
  const named = Object.entries(row.extra).filter(
    ([name, value]) => Object.hasOwn(names, name) && (value !== null || names[name] === "required"),
  )
  return { ...row, extra: Object.fromEntries(named) }
}

/** The fields of a message, of which some may be undefined: as absent, which is what `create` takes them for. */
type Fields<S extends DescMessage> = { [F in keyof Exclude<MessageInitShape<S>, Message>]: unknown }

function broken<S extends DescMessage>(schema: S, fields: Fields<S>): string[] {
  const result = validator.validate(schema, create(schema, fields as MessageInitShape<S>))
  if (result.kind === "error") throw result.error
  if (result.kind === "valid") return []
  return result.violations.map(({ field, message, ruleId }) => {
    const [first] = field
    return `${first?.kind === "field" ? first.name : (ruleId.split(".", 1)[0] ?? "")} ${message}`
  })
}

function brokenJson(field: string, value: Extra | JsonValue[] | undefined): string[] {
  if (value === undefined) return []
  const fault = jsonFault(value)
  if (fault !== undefined) return [`${field}${fault.path} ${fault.rule}`]
  try {
    checkJsonSize(field, value)
    return []
  } catch (error) {
    if (error instanceof StoreError) return [error.message]
    throw error
  }
}
