import {
  type AccountSchema,
  AccountType,
  type GetAccessTokenRequest,
  type GetAccessTokenResponseSchema,
  type LinkAccountRequest,
} from "@authwire/proto"
import type { JsonObject } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { expiryOf } from "../../provider-tokens/expiry.js"
import { accountEtag } from "../../store/etag.js"
import type * as domain from "../../store/types.js"
import { fromExtra, timesOf, toMilliseconds, type Whole, type WholeMessage } from "./values.js"

export function toUserAccountKey(request: GetAccessTokenRequest): domain.UserAccountKey {
  const { userId, provider, providerAccountId } = request
  return { userId, provider, providerAccountId: providerAccountId === "" ? undefined : providerAccountId }
}

/** Returns the minimum validity of the request in milliseconds. Default: 60 seconds. */
export function toMinValidity({ minValidity }: GetAccessTokenRequest): number {
  return minValidity === undefined ? 60_000 : toMilliseconds(minValidity, "min_validity")
}

/** Converts an account whose access token is valid. */
export function fromAccessToken(account: domain.Account): WholeMessage<typeof GetAccessTokenResponseSchema> {
  const { access_token: accessToken = "", token_type: tokenType = "", scope = "" } = account
  const expiry = expiryOf(account)
  return { accessToken, tokenType, scope, expires: expiry === undefined ? undefined : timestampFromMs(expiry) }
}

/** The types of the schema. Their names in upper case are those of the domain. */
const accountTypes = {
  [AccountType.OAUTH]: "oauth",
  [AccountType.OIDC]: "oidc",
  [AccountType.EMAIL]: "email",
  [AccountType.WEBAUTHN]: "webauthn",
} as const

export function toAccount(request: LinkAccountRequest): Whole<domain.Account> {
  return {
    userId: request.userId,
    type: accountTypes[request.type as keyof typeof accountTypes],
    provider: request.provider,
    providerAccountId: request.providerAccountId,
    access_token: request.accessToken,
    token_type: request.tokenType,
    id_token: request.idToken,
    refresh_token: request.refreshToken,
    scope: request.scope,
    expires_in: request.expiresIn,
    expires_at: request.expiresAt,
    authorization_details: request.authorizationDetails?.items,
    extra: request.extra ?? {},
  }
}

/** @param tokens whether the account was read with its tokens; only then it has an etag. */
export function fromAccount(
  account: domain.Account | domain.ListedAccount,
  { tokens } = { tokens: true },
): WholeMessage<typeof AccountSchema> {
  return {
    userId: account.userId,
    type: AccountType[account.type.toUpperCase() as Uppercase<domain.Account["type"]>],
    provider: account.provider,
    providerAccountId: account.providerAccountId,
    accessToken: account.access_token,
    tokenType: account.token_type,
    idToken: account.id_token,
    refreshToken: account.refresh_token,
    scope: account.scope,
    expiresIn: account.expires_in,
    expiresAt: account.expires_at,
    // The schema accepts only objects, so only objects were stored.
    authorizationDetails: account.authorization_details && { items: account.authorization_details as JsonObject[] },
    extra: fromExtra(account.extra),
    etag: tokens ? accountEtag(account) : undefined,
    ...timesOf(account),
  }
}
