import type {
  Account,
  ApiKey,
  AuditEntry,
  Authenticator,
  ListAccountsByUserRequestSchema,
  ListAccountsByUserResponse,
  ListApiKeysRequestSchema,
  ListApiKeysResponse,
  ListAuditEntriesRequestSchema,
  ListAuditEntriesResponse,
  ListAuthenticatorsRequestSchema,
  ListAuthenticatorsResponse,
  ListDeliveriesRequestSchema,
  ListDeliveriesResponse,
  ListSessionsRequestSchema,
  ListSessionsResponse,
  ListTenantsRequestSchema,
  ListTenantsResponse,
  ListUsersRequestSchema,
  ListUsersResponse,
  ListWebhooksRequestSchema,
  ListWebhooksResponse,
  Session,
  Tenant,
  User,
  Webhook,
  WebhookDelivery,
} from "@authwire/proto/slim"
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf"
import type { CallOptions } from "@connectrpc/connect"
import type { ServiceClients } from "./adapter/adapter.js"
import type { AdministrationClients } from "./administration.js"

/**
 * A list of records that the service returns in pages. Iterating it yields the items of all pages. Each page is
 * requested when its first item is needed, so stopping early makes no further call. Every iteration starts again from
 * the beginning. It throws AuthwireError.
 */
export interface List<Item, Page> extends AsyncIterable<Item> {
  /** Iterates over the pages. The `nextPageToken` of one can be the `pageToken` of a later request. */
  pages(): AsyncIterable<Page>
}

type Lister<Request extends DescMessage, Item, Page> = (
  request: MessageInitShape<Request>,
  options?: CallOptions,
) => List<Item, Page>

/** The list methods of the client of users. */
export interface UserLists {
  /**
   * Lists the users that match the filters, in the order that ListUsers describes: without a filter the oldest first, unless `newestFirst` is set. `pageSize` is the number of users per
   * call, 50 by default and at most 100. `pageToken` is the position at which the list begins. The timeout of a call applies to
   * each page.
   *
   * @example
   * ```ts
   * for await (const user of authwire.users.list({ createdSince: timestampFromDate(monday) })) console.log(user.id)
   * ```
   */
  list(request?: MessageInitShape<typeof ListUsersRequestSchema>, options?: CallOptions): List<User, ListUsersResponse>
  /** Returns the users with these ids, any number of them, by as many calls as are needed. Leaves out ids that no user has. */
  getMany(ids: readonly string[], options?: CallOptions): Promise<User[]>
}

/** The list methods of the client of accounts. */
export interface AccountLists {
  /**
   * Lists the accounts of a user, ordered by provider. They include tokens only if `includeTokens` is set and the API
   * key may read tokens.
   */
  listByUser: Lister<typeof ListAccountsByUserRequestSchema, Account, ListAccountsByUserResponse>
}

/** The list methods of the client of sessions. */
export interface SessionLists {
  /**
   * Lists the sessions of a user, or of all with `allUsers`, that match the filters, the newest first. A page may be empty
   * although others follow, because the service examines a limited number of sessions for it.
   */
  list: Lister<typeof ListSessionsRequestSchema, Session, ListSessionsResponse>
}

/** The list methods of the client of authenticators. */
export interface AuthenticatorLists {
  /** Lists the authenticators of a user, in the order of their credential ids. */
  list: Lister<typeof ListAuthenticatorsRequestSchema, Authenticator, ListAuthenticatorsResponse>
}

/** The list methods of the client of the audit. */
export interface AuditLists {
  /**
   * Lists who has called which method that writes, the newest first, of this tenant. Only one of the filters `userId`, `keyId`
   * and `method` can be given, as `filter: { case, value }`, each with `since` and `before`.
   *
   * @example
   * ```ts
   * for await (const entry of authwire.audit.list({ filter: { case: "userId", value: id } })) console.log(entry.method)
   * ```
   */
  list: Lister<typeof ListAuditEntriesRequestSchema, AuditEntry, ListAuditEntriesResponse>
}

/** The list methods of the client of API keys. */
export interface ApiKeyLists {
  /** Lists the keys of the tenant without their secrets, in the byte order of their ids, also those that are expired or revoked. */
  list: Lister<typeof ListApiKeysRequestSchema, ApiKey, ListApiKeysResponse>
}

/** The list methods of the client of tenants. */
export interface TenantLists {
  /** Lists all tenants in the byte order of their names. */
  list: Lister<typeof ListTenantsRequestSchema, Tenant, ListTenantsResponse>
}

/** The list methods of the client of webhooks. */
export interface WebhookLists {
  /** Lists the webhooks of the tenant in the byte order of their ids. */
  list: Lister<typeof ListWebhooksRequestSchema, Webhook, ListWebhooksResponse>
  /** Lists the deliveries of a webhook, the newest first. */
  deliveries: Lister<typeof ListDeliveriesRequestSchema, WebhookDelivery, ListDeliveriesResponse>
}

/** Adds the list methods to the clients whose services have lists. */
export function withLists<Clients extends ServiceClients & AdministrationClients>(clients: Clients) {
  const { users, accounts, sessions, authenticators, audit, apiKeys, tenants, webhooks, ...others } = clients
  const userLists: UserLists = {
    list: listing(users.listUsers, (page) => page.users),
    async getMany(ids, options) {
      const found: User[] = []
      for (let from = 0; from < ids.length; ) {
        const { users: some, processed } = await users.batchGetUsers({ ids: ids.slice(from, from + 500) }, options)
        found.push(...some)
        from += Math.max(processed, 1)
      }
      return found
    },
  }
  const accountLists: AccountLists = { listByUser: listing(accounts.listAccountsByUser, (page) => page.accounts) }
  const sessionLists: SessionLists = { list: listing(sessions.listSessions, (page) => page.sessions) }
  const authenticatorLists: AuthenticatorLists = {
    list: listing(authenticators.listAuthenticators, (page) => page.authenticators),
  }
  const auditLists: AuditLists = { list: listing(audit.listAuditEntries, (page) => page.entries) }
  const apiKeyLists: ApiKeyLists = { list: listing(apiKeys.listApiKeys, (page) => page.apiKeys) }
  const tenantLists: TenantLists = { list: listing(tenants.listTenants, (page) => page.tenants) }
  const webhookLists: WebhookLists = {
    list: listing(webhooks.listWebhooks, (page) => page.webhooks),
    deliveries: listing(webhooks.listDeliveries, (page) => page.deliveries),
  }
  return {
    ...others,
    users: { ...users, ...userLists },
    accounts: { ...accounts, ...accountLists },
    sessions: { ...sessions, ...sessionLists },
    authenticators: { ...authenticators, ...authenticatorLists },
    audit: { ...audit, ...auditLists },
    apiKeys: { ...apiKeys, ...apiKeyLists },
    tenants: { ...tenants, ...tenantLists },
    webhooks: { ...webhooks, ...webhookLists },
  }
}

/** Creates a list method from the method that returns a page. */
function listing<Request extends { pageToken?: string }, Page extends { nextPageToken: string }, Item>(
  ask: (request: Request, options?: CallOptions) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
) {
  return (request = {} as Request, options?: CallOptions): List<Item, Page> => {
    async function* pages() {
      let { pageToken = "" } = request
      do {
        const page = await ask({ ...request, pageToken }, options)
        yield page
        pageToken = page.nextPageToken
      } while (pageToken !== "")
    }
    return {
      pages,
      async *[Symbol.asyncIterator]() {
        for await (const page of pages()) yield* itemsOf(page)
      },
    }
  }
}
