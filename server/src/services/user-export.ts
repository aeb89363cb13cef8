import type { ExportUserRequest, ExportUserResponseSchema } from "@authwire/proto"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Failure, invalidField } from "../errors/failure.js"
import type { CallerOfCall } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import type { StoredEvent } from "../store/types.js"
import { fromAccount } from "./wire/account.js"
import { fromAuthenticator } from "./wire/authenticator.js"
import { fromEvent } from "./wire/event.js"
import { fromSession } from "./wire/session.js"
import { fromUser } from "./wire/user.js"
import { found, toPage } from "./wire/values.js"

/** The events that one statement reads, and the number of such statements of one page. They are those of all users. */
const eventsAtOnce = 1_000
const readsOfPage = 10

type Response = MessageInitShape<typeof ExportUserResponseSchema>
type Stores = Pick<Store, "users" | "accounts" | "sessions" | "authenticators" | "events">

/**
 * Creates UserService.ExportUser. The token of a page is the name of its list, and the token of that list's page. A token
 * that a caller has made up only shows other items of the same user.
 */
export function userExport({ users, accounts, sessions, authenticators, events }: Stores) {
  return async (request: ExportUserRequest, caller: CallerOfCall): Promise<Response> => {
    const { userId, pageSize } = request
    // On each page, so that a user who is deleted meanwhile does not look like one with less data.
    const user = found(await users.getWithTimes(caller, userId), "USER_NOT_FOUND")
    const [list = "", token = ""] = request.pageToken.split(/\.(.*)/s)
    const page = toPage({ pageSize, pageToken: token })
    const following = (next: string | undefined, list: string, after: string) =>
      next === undefined ? after : `${list}.${next}`
    switch (list) {
      case "": {
        const passkeys = await authenticators.listByUserId(caller, userId)
        return {
          user: fromUser(user),
          authenticators: passkeys.map((passkey) => fromAuthenticator({ ...passkey, credentialPublicKey: "" })),
          nextPageToken: "accounts.",
        }
      }
      case "accounts": {
        const { items, nextToken } = await accounts.listByUser(caller, userId, page, { tokens: false })
        const shown = items.map((account) => fromAccount(account, { tokens: false }))
        return { accounts: shown, nextPageToken: following(nextToken, "accounts", "sessions.") }
      }
      case "sessions": {
        const { items, nextToken } = await sessions.list(caller, { userId }, page)
        return { sessions: items.map(fromSession), nextPageToken: following(nextToken, "sessions", "events.0") }
      }
      case "events": {
        const { items, next } = await eventsOf(caller, userId, { after: sequenceOf(token), size: page.size })
        return { events: items.map(fromEvent), nextPageToken: following(next, "events", "") }
      }
      default:
        throw invalidToken()
    }
  }

  /** Returns events of the user, and the token of the next page. */
  async function eventsOf(caller: CallerOfCall, userId: string, { after, size }: { after: number; size: number }) {
    const items: StoredEvent[] = []
    // The last events may have no sequence yet.
    if (after === 0) await events.sequence(caller)
    let last = after
    for (let reads = 0; reads < readsOfPage; reads++) {
      const all = await events.read(caller, { after: last, limit: eventsAtOnce })
      for (const event of all) {
        if (items.length === size) return { items, next: String(last) }
        if (event.userId === userId) items.push(event)
        last = event.sequence
      }
      if (all.length < eventsAtOnce) return { items, next: undefined }
    }
    return { items, next: String(last) }
  }
}

function sequenceOf(token: string): number {
  if (!/^\d{1,15}$/.test(token)) throw invalidToken()
  return Number(token)
}

function invalidToken(): Failure {
  return invalidField("page_token", "must be the next_page_token of the same list, with the same filters")
}
