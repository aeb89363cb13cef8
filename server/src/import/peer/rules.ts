import {
  CreateAuthenticatorRequestSchema,
  CreateSessionRequestSchema,
  CreateUserRequestSchema,
  CreateVerificationTokenRequestSchema,
  LinkAccountRequestSchema,
  UpdateSessionPolicyRequestSchema,
} from "@authwire/proto"
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf"
import { createValidator } from "@bufbuild/protovalidate"
import { StoreError } from "../../errors/store-error.js"
import { jsonFault } from "../../rpc/json.js"
import { fromAccount } from "../../services/wire/account.js"
import { fromAuthenticator } from "../../services/wire/authenticator.js"
import { fromSession } from "../../services/wire/session.js"
import { fromSessionPolicy } from "../../services/wire/session-policy.js"
import { fromUserWithoutEtag } from "../../services/wire/user.js"
import { fromVerificationToken } from "../../services/wire/verification-token.js"
import { type BulkName, checkJsonSize } from "../../store/sql/index.js"
import type {
  Account,
  Authenticator,
  Extra,
  JsonValue,
  Session,
  SessionPolicy,
  User,
  VerificationToken,
} from "../../store/types.js"
import { isListOfObjects } from "../../util/json.js"
import { fields } from "./layouts.js"

const validator = createValidator()

// The rules that the service would apply to the request that creates such a row: those of the schema and of the store.

export const brokenRules = {
  users: (user: User) => [
    ...broken(CreateUserRequestSchema, fromUserWithoutEtag(withNamed("users", user))),
    ...brokenJson("extra", user.extra),
  ],
  privateExtra: (extra: Extra | undefined) => brokenJson("private_extra", extra),
  accounts: (account: Account) => {
    const details = account.authorization_details
    if (!isListOfObjects(details ?? [])) return ["authorization_details must be a JSON array of objects"]
    return [
      ...broken(LinkAccountRequestSchema, fromAccount(withNamed("accounts", account), { tokens: false })),
      ...brokenJson("extra", account.extra),
      ...brokenJson("authorization_details", details),
    ]
  },
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
  sessionPolicy: (policy: SessionPolicy) =>
    broken(UpdateSessionPolicyRequestSchema, { ...fromSessionPolicy(policy), updateMask: { paths: ["max_age"] } }),
}

/** Returns the rules of the schema that a value of one field of a request breaks, if it is well-formed Unicode. */
export function brokenField<S extends DescMessage>(
  schema: S,
  field: keyof S["field"] & string,
  value: unknown,
): string[] {
  if (typeof value === "string" && !value.isWellFormed()) return ["must be well-formed Unicode"]
  const name = schema.field[field]?.name
  const { violations = [] } = validator.validate(schema, create(schema, { [field]: value } as MessageInitShape<S>))
  return violations.flatMap(({ field: [first], message }) =>
    first?.kind === "field" && first.name === name ? [message.replaceAll("\0", "U+0000")] : [],
  )
}

/**
 * Returns the row with only those entries of `extra` that the schema may reject: the ones with a name of the contract.
 * The rule is an expression, and evaluating it for every name of every row would take longer than everything else.
 */
function withNamed<T extends { extra: Extra }>(table: BulkName, row: T): T {
  const names = fields[table]
  const named = Object.entries(row.extra).filter(
    ([name, value]) => Object.hasOwn(names, name) && (value !== null || names[name] === "required"),
  )
  return { ...row, extra: Object.fromEntries(named) }
}

/** The fields of a message. Some may be undefined, which `create` treats as absent. */
type Fields<S extends DescMessage> = { [F in keyof Exclude<MessageInitShape<S>, Message>]: unknown }

function broken<S extends DescMessage>(schema: S, fields: Fields<S>): string[] {
  const result = validator.validate(schema, create(schema, fields as MessageInitShape<S>))
  if (result.kind === "error") throw result.error
  if (result.kind === "valid") return []
  return result.violations.map(({ field, message, ruleId }) => {
    const [first] = field
    const name = first?.kind === "field" ? first.name : (ruleId.split(".", 1)[0] ?? "")
    return `${name} ${message.replaceAll("\0", "U+0000")}`
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
