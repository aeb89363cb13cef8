// What the search of the site finds first.

/** What readers look for in the search, for pages that say it in other words. */
export const searchWords: Readonly<Record<string, string>> = {
  "docs/administration.md": "GDPR personal data export erasure delete user DSAR api key create key rotate multi-tenant",
  "docs/backup.md": "disaster recovery restore dump",
  "docs/scaling.md": "shards sharding vitess capacity growth",
  "docs/clusters.md": "high availability failover galera group replication",
  "docs/compared-with.md": "alternatives versus vs comparison permissions rbac authorization",
  "docs/deploying.md": "install docker compose kubernetes helm systemd container environment variables",
  "docs/disabling-users.md": "block user ban user suspend user lock account deactivate",
  "docs/events.md": "webhook change feed stream notifications",
  "docs/extending-sessions.md": "keep alive rolling session remember me expiry maxAge",
  "docs/first-hour-in-production.md": "go live checklist systemd tutorial",
  "docs/gateways.md": "forward auth envoy nginx traefik reverse proxy",
  "docs/introspection.md": "verify session validate token who is signed in middleware",
  "docs/limits.md": "rate limit quota throttling resource_exhausted",
  "docs/moving.md": "migrate import prisma drizzle typeorm mongodb mongoose adapter",
  "docs/operating.md": "monitoring prometheus metrics alerts logging health check capacity",
  "docs/other-languages.md": "python go java rust php ruby dotnet curl rest http",
  "docs/performance.md": "benchmark latency throughput fast",
  "docs/provider-tokens.md": "access token refresh token rotation google api",
  "docs/runtimes.md": "edge cloudflare workers vercel bun deno bundler esbuild jest",
  "docs/security.md": "tls https mtls certificate api key scopes audit log encryption at rest tenants",
  "docs/session-cache.md": "redis cache invalidation revocation",
  "docs/sessions.md": "logout log out sign out everywhere devices revoke session limit ip address",
}

/**
 * Returns the weight of a part of a page in the search: guides come before the reference. The browser gets the text of
 * this function, which therefore uses nothing else.
 */
export function searchWeight(id: string): number {
  if (/\/(?:api|reference|decisions)\/|CHANGELOG/.test(id)) return 0.2
  return /\/(?:docs\/(?:configuration|errors|limits)|SECURITY)\./.test(id) ? 0.4 : 1
}
