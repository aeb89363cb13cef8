import type {
  Account,
  ListAccountsByUserRequestSchema,
  ListAccountsByUserResponse,
  ListUsersRequestSchema,
  ListUsersResponse,
  User,
} from "@authwire/proto/slim"
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { CallOptions } from "@connectrpc/connect"
import type { ServiceClients } from "./adapter/adapter.js"

/**
 * A list of the service. Iterating it gives the items, over all pages; each page is asked for when its first item is
 * wanted, so breaking off costs no call more. Every iteration begins anew. What fails is thrown as ConnectError.
 */
export interface List<Item, Page> extends AsyncIterable<Item> {
  /** The pages instead of their items: each with its `nextPageToken`, by which a later request can go on. */
  pages(): AsyncIterable<Page>
}

/** What the client of users has beside its calls. */
export interface UserLists {
  /**
   * The users whom the filters let through, in the order of their creation. `pageSize` says how many come with one call,
   * 50 by default; `pageToken` where to begin. Every page has the time-out of a call.
   *
   * @example
   * ```ts
   * for await (const user of authwire.users.list({ createdSince: timestampFromDate(monday) })) console.log(user.id)
   * ```
   */
  list(request?: MessageInitShape<typeof ListUsersRequestSchema>, options?: CallOptions): List<User, ListUsersResponse>
}

/** What the client of accounts has beside its calls. */
export interface AccountLists {
  /** The accounts of a user, by provider; without tokens, unless `includeTokens` is set and the key may read them. */
  listByUser(
    request: MessageInitShape<typeof ListAccountsByUserRequestSchema>,
    options?: CallOptions,
  ): List<Account, ListAccountsByUserResponse>
}

/** The clients of users and accounts with their lists. */
export function withLists({ users, accounts, ...others }: ServiceClients) {
  const userLists: UserLists = {
    list: (request = {}, options) =>
      listOf(
        request.pageToken,
        (pageToken) => users.listUsers({ ...request, pageToken }, options),
        (page) => page.users,
      ),
  }
  const accountLists: AccountLists = {
    listByUser: (request, options) =>
      listOf(
        request.pageToken,
        (pageToken) => accounts.listAccountsByUser({ ...request, pageToken }, options),
        (page) => page.accounts,
      ),
  }
  return { ...others, users: { ...users, ...userLists }, accounts: { ...accounts, ...accountLists } }
}

function listOf<Item, Page extends { nextPageToken: string }>(
  begin: string | undefined,
  ask: (pageToken: string) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): List<Item, Page> {
  async function* pages() {
    let token = begin ?? ""
    do {
      const page = await ask(token)
      yield page
      token = page.nextPageToken
    } while (token !== "")
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* itemsOf(page)
    },
  }
}
