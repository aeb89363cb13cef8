/** A set of scopes for what keys are usually made for. */
export interface ScopePreset {
  readonly name: string
  /** What the holder of such a key does, as a sentence. */
  readonly description: string
  readonly scopes: readonly string[]
}

/** The presets, which `authwire keys create --scopes` takes, and the console offers. */
export const scopePresets: readonly ScopePreset[] = [
  {
    name: "application",
    description: "Signs users in with Auth.js, issues and reads its tokens, and passes signals of providers on.",
    scopes: [
      ...["users:read", "users:write", "accounts:read", "accounts:write", "sessions:read", "sessions:write"],
      ...["authenticators:read", "authenticators:write", "verification-tokens:write", "tokens:decode", "tokens:encode"],
      "signals:write",
    ],
  },
  {
    name: "backend",
    description: "Asks which user a request is from, reads users, and follows events.",
    scopes: ["sessions:introspect", "users:read", "events:watch"],
  },
  {
    name: "gateway",
    description: "Asks which user a request is from, and nothing else.",
    scopes: ["sessions:introspect"],
  },
  {
    // Without the scopes of webhooks: a webhook gets the events, and perhaps the users, even after the key of its maker is revoked. And
    // whoever has `all` and `keys:write` can give each preset.
    name: "operator",
    description: "Looks after users and their sessions, and reads events and the audit.",
    scopes: [
      ...["users:read", "users:write", "users:disable", "users:export", "accounts:write", "sessions:read"],
      ...["sessions:write", "authenticators:read", "authenticators:write", "session-policy:read", "events:watch"],
      ...["audit:read", "keys:read"],
    ],
  },
]

/** Replaces each name of a preset in a list of scopes by its scopes. Each scope is in the result once. */
export function withoutPresets(list: readonly string[]): string[] {
  return [...new Set(list.flatMap((one) => scopePresets.find(({ name }) => name === one)?.scopes ?? [one]))]
}
