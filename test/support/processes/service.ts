import { pino } from "pino"
import { createService, type ServiceConfiguration, type ServiceOptions } from "../../../server/src/bootstrap/service.js"
import { eventFeed } from "../../../server/src/events/feed.js"
import { type ReadinessSwitch, readinessSwitch } from "../../../server/src/health/readiness.js"
import { accessTokens } from "../../../server/src/provider-tokens/access-tokens.js"
import { signalVerifier } from "../../../server/src/signals/verifier.js"
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

interface Options extends Omit<Partial<ServiceOptions>, "configuration"> {
  configuration?: Partial<ServiceConfiguration>
}

/** Opens a ready service in this process, without listeners. `options` override the defaults. */
export function openService(store: Store, { configuration, ...options }: Options = {}) {
  const readiness: ReadinessSwitch = readinessSwitch()
  readiness.set(true)
  const router = createService({
    store,
    readiness,
    feed: eventFeed({ events: store.events }),
    log: pino({ level: "silent" }),
    clock: () => performance.now(),
    access: anybody,
    audit: undefined,
    instruments: { metrics: undefined, tracing: undefined },
    secretsOf: () => ["a secret of the tests"],
    accessTokens: accessTokens({
      tokenRefreshes: store.tokenRefreshes,
      providers: { of: () => undefined },
      log: pino({ level: "silent" }),
      now: Date.now,
      clock: () => performance.now(),
      elapsed: () => performance.now(),
    }),
    verifier: signalVerifier({
      providers: { of: () => undefined },
      now: Date.now,
      clock: () => performance.now(),
    }),
    providers: { of: () => undefined },
    egress: { dev: false, allowPrivate: [] },
    configuration: {
      reflection: "on",
      health: "on",
      secureCookie: false,
      tokenCacheSize: 1_000,
      maxDeadlineMs: 30_000,
      maxMessageBytes: 1_000_000,
      maxActiveCalls: 1_000,
      rateLimit: 0,
      rateLimitOverrides: {},
      ...configuration,
    },
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
    loopbackNames: false,
    keyBudgets: keyBudgets(1_000_000, 1_000),
    handshakeTimeoutMs: 10_000,
    idleTimeoutMs: 60_000,
    log: options.log ?? pino({ level: "silent" }),
  }
  return { router, readiness, transport }
}
