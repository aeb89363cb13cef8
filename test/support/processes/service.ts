import { randomUUID } from "node:crypto"
import { pino } from "pino"
import { createService, type ServiceOptions } from "../../../server/src/bootstrap/service.js"
import { eventFeed } from "../../../server/src/events/feed.js"
import { type ReadinessSwitch, readinessSwitch } from "../../../server/src/health/readiness.js"
import { accessTokens } from "../../../server/src/provider-tokens/access-tokens.js"
import type { Store } from "../../../server/src/store/store.js"
import { keyBudgets } from "../../../server/src/transport/limits/connection.js"
import { openMethods } from "../../../server/src/transport/limits/open-methods.js"

/** Admits every call, as `--dev` does. */
const anybody: ServiceOptions["access"] = {
  admit: () => (call) => {
    call.identity = { keyId: undefined, tenant: "default", hasScope: () => true }
    return undefined
  },
}

/** Opens a ready service in this process, without listeners. `options` override the defaults. */
export function openService(store: Store, options: Partial<ServiceOptions> = {}) {
  const readiness: ReadinessSwitch = readinessSwitch()
  readiness.set(true)
  const router = createService({
    store,
    readiness,
    feed: eventFeed({ events: store.events }),
    log: pino({ level: "silent" }),
    newId: randomUUID,
    clock: () => performance.now(),
    access: anybody,
    audit: undefined,
    metrics: undefined,
    tracing: undefined,
    reflection: true,
    health: true,
    secretsOf: () => ["a secret of the tests"],
    secureCookie: false,
    tokenCacheSize: 1_000,
    accessTokens: accessTokens({
      tokenRefreshes: store.tokenRefreshes,
      providers: { of: () => undefined },
      log: pino({ level: "silent" }),
      now: Date.now,
      clock: () => performance.now(),
    }),
    maxDeadlineMs: 30_000,
    maxMessageBytes: 1_000_000,
    maxActiveCalls: 1_000,
    rateLimit: 0,
    rateLimitOverrides: {},
    ...options,
  })
  const transport = {
    router,
    readiness,
    maxMessageBytes: 1_000_000,
    address: { host: "127.0.0.1", port: 0 },
    certificate: undefined,
    maxConnections: 1_000,
    openMethods: openMethods(),
    keyBudgets: keyBudgets(1_000_000),
    handshakeTimeoutMs: 10_000,
    idleTimeoutMs: 60_000,
    log: options.log ?? pino({ level: "silent" }),
  }
  return { router, readiness, transport }
}
