import type { AuthConfig } from "@auth/core"
import type { AdapterAccount } from "@auth/core/adapters"
import type { Provider } from "@auth/core/providers"

/** The properties of an Auth.js configuration that are read or changed here. */
export type TokenConfig = Pick<AuthConfig, "adapter" | "events"> & { readonly providers?: AuthConfig["providers"] }

type SignedIn = Parameters<NonNullable<NonNullable<AuthConfig["events"]>["signIn"]>>[0]

/** The values of a token endpoint's response. */
type TokenSet = Record<string, unknown>

/**
 * Returns an Auth.js configuration that stores the provider's tokens at every sign-in. By itself Auth.js stores them only
 * when the account is linked, so that a new sign-in would not replace a refresh token that the provider no longer
 * accepts. `throwOutages` and `withAuthwire` do the same.
 *
 * The tokens are stored in the event `signIn`, before the application's own handler of the event runs. If they cannot be
 * stored, Auth.js logs an EventError, and the user is signed in with the previous tokens. What is stored is what the
 * provider's `account` callback returns, as at the first sign-in.
 *
 * @example
 * ```ts
 * Auth(request, storeTokens({ adapter: AuthwireAdapter({ url }), providers }))
 * ```
 */
export function storeTokens<Config extends TokenConfig>(config: Config): Config {
  const { adapter, events, providers = [] } = config
  const linkAccount = adapter?.linkAccount
  if (linkAccount === undefined) return config

  async function store({ user, account, isNewUser }: SignedIn): Promise<void> {
    // The account of a new user has just been linked.
    if (account == null || isNewUser || (account.type !== "oauth" && account.type !== "oidc")) return
    const { type, provider, providerAccountId, userId: _, ...tokens } = account
    const stored = mappingOf(providers, provider)(tokens) ?? {}
    await linkAccount?.({ ...stored, type, provider, providerAccountId, userId: user.id } as AdapterAccount)
  }

  return {
    ...config,
    events: {
      ...events,
      async signIn(message: SignedIn) {
        try {
          await store(message)
        } finally {
          await events?.signIn?.(message)
        }
      },
    },
  }
}

/** Returns the `account` callback of a provider: the application's, the provider's or that of Auth.js. */
function mappingOf(providers: Provider[], id: string): (tokens: TokenSet) => TokenSet | undefined {
  for (const given of providers) {
    const { options, ...defaults } = (typeof given === "function" ? given() : given) as ProviderParts
    const provider = { ...defaults, ...options }
    if (provider.id === id) return provider.account ?? defaultMapping
  }
  return defaultMapping
}

interface ProviderParts {
  readonly id?: string
  readonly account?: ((tokens: TokenSet) => TokenSet | undefined) | undefined
  readonly options?: Omit<ProviderParts, "options">
}

/** The values that Auth.js stores by default. */
const defaultFields = [
  "access_token",
  "id_token",
  "refresh_token",
  "expires_at",
  "scope",
  "token_type",
  "session_state",
]

function defaultMapping(tokens: TokenSet): TokenSet {
  return Object.fromEntries(defaultFields.map((field) => [field, tokens[field]]))
}
