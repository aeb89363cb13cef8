import { hash } from "node:crypto"
import { type BulkName, type BulkRows, emailKey, jsonText } from "../../store/sql/index.js"
import type { Account, AccountType, Authenticator, Session, User, VerificationToken } from "../../store/types.js"
import type { Fault } from "../item.js"
import type { RawRow } from "./raw-row.js"
import { brokenRules } from "./rules.js"
import type { SetAside } from "./set-aside.js"

// Converts rows of a peer to rows of Authwire. AuthwireAdapter returns from them what the peer's adapter returned.

/**
 * @param isSound - Whether the row is known to satisfy the rules. Checking them takes most of the time.
 * @param aside - The accounts that become properties of their users.
 */
type Convert<Row> = (raw: RawRow, tenant: string, isSound: boolean, aside?: SetAside) => Row

const accountTypes: readonly string[] = ["oauth", "oidc", "email", "webauthn"] satisfies AccountType[]

export const convert: { readonly [N in BulkName]: Convert<BulkRows[N]> } = {
  users(raw, tenant, isSound, aside) {
    const id = raw.required("id", raw.text("id"), "")
    if (aside !== undefined) raw.addProperties(aside.of(id))
    const user: User = {
      id,
      email: raw.text("email"),
      emailVerified: raw.date("emailVerified"),
      name: raw.text("name"),
      image: raw.text("image"),
      // In the contract, null and an absent value are the same for a date. `emailVerified` is therefore not in the
      // list.
      extra: raw.extra(["email", "name", "image"]),
    }
    const hidden = raw.privateExtra()
    raw.checkLengths(["image"])
    if (isUnreachable(user.email)) raw.faults.push(unreachable)
    if (!isSound) check(raw, user, () => [...brokenRules.users(user), ...brokenRules.privateExtra(hidden)])
    const created = raw.creation()
    // One that breaks a rule may be nested more deeply than can be written.
    const privateExtra = hidden && raw.isImported ? jsonText(hidden) : undefined
    return { ...user, tenant, emailKey: emailKey(user.email), privateExtra, created }
  },

  accounts(raw, tenant, isSound) {
    const type = raw.required("type", raw.text("type"), "")
    const word = raw.wordFor("type")
    const userId = raw.required("userId", raw.text("userId"), "")
    if (word !== undefined) raw.setAside(word, userId)
    else if (!accountTypes.includes(type))
      raw.fault("type", `must be one of ${accountTypes.join(", ")}: values in --mapping says what becomes of others`)
    const account: Account = {
      userId,
      type: type as AccountType,
      provider: raw.required("provider", raw.text("provider"), ""),
      providerAccountId: raw.required("providerAccountId", raw.text("providerAccountId"), ""),
      access_token: raw.text("access_token"),
      token_type: raw.lowerCase("token_type"),
      id_token: raw.text("id_token"),
      refresh_token: raw.text("refresh_token"),
      scope: raw.text("scope"),
      expires_in: raw.number("expires_in"),
      expires_at: raw.seconds("expires_at"),
      authorization_details: raw.objects("authorization_details"),
      extra: raw.extra([
        "access_token",
        "token_type",
        "id_token",
        "refresh_token",
        "scope",
        "expires_in",
        "expires_at",
        "authorization_details",
      ]),
    }
    raw.checkLengths(["access_token", "id_token", "refresh_token", "scope", "providerAccountId"])
    if (!isSound) check(raw, account, () => brokenRules.accounts(account))
    return { ...account, tenant }
  },

  sessions(raw, tenant, isSound) {
    const session: Session = {
      sessionToken: raw.required("sessionToken", raw.text("sessionToken"), ""),
      userId: raw.required("userId", raw.text("userId"), ""),
      expires: raw.required("expires", raw.date("expires"), new Date(0)),
      extra: raw.extra([]),
    }
    if (!isSound) check(raw, session, () => brokenRules.sessions(session))
    const { sessionToken, ...rest } = session
    return { ...rest, tenant, tokenHash: hash("sha256", sessionToken, "buffer") }
  },

  verificationTokens(raw, tenant, isSound) {
    const verificationToken: VerificationToken = {
      identifier: raw.required("identifier", raw.text("identifier"), ""),
      token: raw.required("token", raw.text("token"), ""),
      expires: raw.required("expires", raw.date("expires"), new Date(0)),
    }
    if (!isSound) check(raw, verificationToken, () => brokenRules.verificationTokens(verificationToken))
    const { token, ...rest } = verificationToken
    return { ...rest, tenant, tokenHash: hash("sha256", token, "buffer") }
  },

  authenticators(raw, tenant, isSound) {
    const authenticator: Authenticator = {
      credentialID: raw.required("credentialID", raw.text("credentialID"), ""),
      userId: raw.required("userId", raw.text("userId"), ""),
      providerAccountId: raw.required("providerAccountId", raw.text("providerAccountId"), ""),
      credentialPublicKey: raw.required("credentialPublicKey", raw.text("credentialPublicKey"), ""),
      counter: raw.required("counter", raw.counter("counter"), 0),
      credentialDeviceType: raw.required("credentialDeviceType", raw.text("credentialDeviceType"), ""),
      credentialBackedUp: raw.required("credentialBackedUp", raw.flag("credentialBackedUp"), false),
      transports: raw.text("transports"),
      extra: raw.extra(["transports"]),
    }
    raw.checkLengths(["credentialID", "credentialPublicKey", "providerAccountId"])
    if (!isSound) check(raw, authenticator, () => brokenRules.authenticators(authenticator))
    return { ...authenticator, tenant }
  },
}

const unreachable: Fault = {
  kind: "unreachable-address",
  detail: "email is another address to Auth.js, and is imported unchanged",
}

/** Whether Auth.js changes an address before it looks for its user, more than Authwire does when it compares. */
function isUnreachable(email = ""): boolean {
  return /\P{ASCII}/u.test(email) && emailKey(email.normalize("NFKC").toLowerCase()) !== emailKey(email)
}

/** Checks the rules of a row without faults. Leaves out the values for which the mapping says so. */
function check(raw: RawRow, row: object, rules: () => string[]): void {
  if (!raw.isImported) return
  for (const detail of rules()) {
    const omitted = raw.breach(detail)
    if (omitted !== undefined) Object.assign(row, { [omitted]: undefined })
  }
}
