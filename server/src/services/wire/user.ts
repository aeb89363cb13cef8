import type {
  CountUsersRequest,
  CreateUserRequest,
  DisabledSchema,
  DisableUserRequest,
  ListUsersRequest,
  UpdateUserRequest,
  UserSchema,
} from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { userEtag } from "../../store/etag.js"
import type * as domain from "../../store/types.js"
import { fromExtra, timesOf, toDate, toExtraPatch, unknownPath, type Whole, type WholeMessage } from "./values.js"

export function toUser(request: CreateUserRequest, id: string): Whole<Omit<domain.User, "disabled">> {
  return {
    id,
    email: request.email,
    emailVerified: request.emailVerified && toDate(request.emailVerified, "email_verified"),
    name: request.name,
    image: request.image,
    extra: request.extra ?? {},
  }
}

/** The properties of the contract that have a field. */
const named: ReadonlySet<string> = new Set(["id", "email", "emailVerified", "name", "image"])

export function toUserPatch(request: UpdateUserRequest): domain.UserPatch {
  const patch: domain.UserPatch = {}
  for (const path of request.updateMask?.paths ?? []) {
    if (path === "email") patch.email = request.email ?? null
    else if (path === "email_verified")
      patch.emailVerified = request.emailVerified ? toDate(request.emailVerified, "email_verified") : null
    else if (path === "name") patch.name = request.name ?? null
    else if (path === "image") patch.image = request.image ?? null
    else if (path === "extra") patch.extra = toExtraPatch(request.extra, named)
    else throw unknownPath()
  }
  return patch
}

export function toDisabled({ reason, endTime }: DisableUserRequest): Whole<Omit<domain.Disabled, "since">> {
  return { reason, until: endTime && toDate(endTime, "end_time") }
}

export function toUserFilter(request: ListUsersRequest): Whole<domain.UserFilter> {
  const { emailPrefix, namePrefix, provider, lastSeenSince, disabled, newestFirst } = request
  return {
    ...toCountFilter(request),
    emailPrefix,
    namePrefix,
    provider,
    lastSeenSince: lastSeenSince && toDate(lastSeenSince, "last_seen_since"),
    disabled,
    newestFirst: newestFirst || undefined,
  }
}

export function toCountFilter(request: ListUsersRequest | CountUsersRequest): Whole<domain.CountFilter> {
  const { email, createdSince, createdBefore } = request
  return {
    email,
    createdSince: createdSince && toDate(createdSince, "created_since"),
    createdBefore: createdBefore && toDate(createdBefore, "created_before"),
  }
}

export function fromUser(user: domain.User | domain.ListedUser): WholeMessage<typeof UserSchema> {
  return withEtag(user, userEtag(user))
}

/** Converts a user without the etag, whose digest costs time. Every request of an application reads the user of a session. */
export function fromUserWithoutEtag(user: domain.User): WholeMessage<typeof UserSchema> {
  return withEtag(user, undefined)
}

function withEtag(user: domain.User | domain.ListedUser, etag: string | undefined): WholeMessage<typeof UserSchema> {
  return {
    id: user.id,
    emailVerified: user.emailVerified && timestampFromDate(user.emailVerified),
    email: user.email,
    name: user.name,
    image: user.image,
    extra: fromExtra(user.extra),
    ...timesOf(user),
    disabled: user.disabled && fromDisabled(user.disabled),
    etag,
  }
}

function fromDisabled({ since, until, reason }: domain.Disabled): WholeMessage<typeof DisabledSchema> {
  return { disableTime: timestampFromDate(since), reason, endTime: until && timestampFromDate(until) }
}
