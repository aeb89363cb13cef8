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
import { checkJsonSize } from "../../store/sql/index.js"
import type { Account, Authenticator, Extra, JsonValue, Session, User, VerificationToken } from "../../store/types.js"

const validator = createValidator()

// What the service would say of the request that makes such a row: the rules of the schema, and the store's own.

export const brokenRules = {
  users: (user: User) => [...broken(CreateUserRequestSchema, fromUser(user)), ...brokenJson("extra", user.extra)],
  accounts: (account: Account) => [
    ...broken(LinkAccountRequestSchema, fromAccount(account)),
    ...brokenJson("extra", account.extra),
    ...brokenJson("authorization_details", account.authorization_details),
  ],
  sessions: (session: Session) => [
    ...broken(CreateSessionRequestSchema, fromSession(session)),
    ...brokenJson("extra", session.extra),
  ],
  verificationTokens: (token: VerificationToken) =>
    broken(CreateVerificationTokenRequestSchema, fromVerificationToken(token)),
  authenticators: (authenticator: Authenticator) => [
    ...broken(CreateAuthenticatorRequestSchema, fromAuthenticator(authenticator)),
    ...brokenJson("extra", authenticator.extra),
  ],
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
