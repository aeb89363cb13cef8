import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { setImmediate } from "node:timers/promises"
import {
  AccountService,
  ApiKeyService,
  AuditService,
  AuthenticatorService,
  ErrorReasonSchema,
  EventService,
  IntrospectionService,
  PipelineService,
  PrivateExtraService,
  SessionCacheService,
  SessionPolicyService,
  SessionService,
  SignalService,
  TenantService,
  TokenService,
  UserService,
  VerificationTokenService,
  WebhookService,
} from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import { Health } from "@authwire/proto/health"
import { ServerReflection as ServerReflectionV1 } from "@authwire/proto/reflection/v1"
import { ServerReflection as ServerReflectionV1Alpha } from "@authwire/proto/reflection/v1alpha"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { createTokenModule } from "@authwire/token"
import type { Logger } from "pino"
import { isOwnMethod, isWrite } from "../auth/scopes.js"
import type { Configuration } from "../config/configuration.js"
import { statusName } from "../errors/status.js"
import type { EventFeed } from "../events/feed.js"
import { misconfigurations } from "../gateway/misconfigurations.js"
import type { Readiness } from "../health/readiness.js"
import { concurrencyLimit } from "../overload/concurrency-limit.js"
import { rejectionPause } from "../overload/pause.js"
import { pipelineService } from "../pipeline/service.js"
import type { AccessTokens } from "../provider-tokens/access-tokens.js"
import type { Providers } from "../provider-tokens/provider.js"
import type { Access, Observer } from "../rpc/interceptor.js"
import type { Audit } from "../rpc/interceptors/audit.js"
import { awaitCaches } from "../rpc/interceptors/await-caches.js"
import { idempotency } from "../rpc/interceptors/idempotency.js"
import { logging } from "../rpc/interceptors/logging.js"
import { hideProviderTokens } from "../rpc/interceptors/provider-tokens.js"
import { rateLimit } from "../rpc/interceptors/rate-limit.js"
import { callSpans } from "../rpc/interceptors/tracing.js"
import { validation } from "../rpc/interceptors/validation.js"
import { type Rejecter, rejecter, rejections } from "../rpc/rejection.js"
import { createRouter, type Router, register } from "../rpc/router.js"
import { accountService } from "../services/account.js"
import { apiKeyService } from "../services/api-key.js"
import { auditService } from "../services/audit.js"
import { authenticatorService } from "../services/authenticator.js"
import { type AuthorizationDeps, authorizationService } from "../services/authorization.js"
import { eventService } from "../services/event.js"
import { healthService } from "../services/health.js"
import { introspectionService } from "../services/introspection.js"
import { privateExtraService } from "../services/private-extra.js"
import { reflectionService } from "../services/reflection.js"
import { sessionService } from "../services/session.js"
import { sessionCacheService } from "../services/session-cache.js"
import { sessionPolicyService } from "../services/session-policy.js"
import { signalService } from "../services/signal.js"
import { tenantService } from "../services/tenant.js"
import { longestAges, tokenService } from "../services/token.js"
import { userService } from "../services/user.js"
import { verificationTokenService } from "../services/verification-token.js"
import { webhookService } from "../services/webhook.js"
import { logoutUrls } from "../signals/logout-url.js"
import { signalReceiver } from "../signals/receiver.js"
import type { SignalVerifier } from "../signals/verifier.js"
import type { Store } from "../store/store.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { lineOf } from "../util/turn-limit.js"
import type { Egress } from "../webhooks/destination.js"
import type { Instruments } from "./instruments.js"
import { sessionCaches } from "./session-caches.js"

/** The options of the configuration that the services use. */
export type ServiceConfiguration = Pick<
  Configuration,
  | "reflection"
  | "health"
  | "secureCookie"
  | "tokenCacheSize"
  | "maxDeadlineMs"
  | "maxMessageBytes"
  | "maxActiveCalls"
  | "rateLimit"
  | "rateLimitOverrides"
>

export interface ServiceOptions {
  configuration: ServiceConfiguration
  store: Store
  readiness: Readiness
  /** Reads the events of the store. */
  feed: EventFeed
  log: Logger
  /** A clock for durations, in milliseconds. */
  clock: () => number
  /** Authenticates and authorizes calls. */
  access: Access
  audit: Audit | undefined
  instruments: Instruments
  /** Returns the secrets that encrypt and decrypt the tokens of a tenant, the newest first. */
  secretsOf: (tenant: string) => readonly string[]
  accessTokens: AccessTokens
  identity?: AuthorizationDeps["identity"]
  verifier: SignalVerifier
  providers: Providers
  /** Where webhooks may go. */
  egress: Egress
}

/** The most active calls of a pipeline, and the space of its messages beside a call's request, in bytes. */
export const maxInFlight = 1024
const frameExtraBytes = 64 * 1024

/** Creates the router of all services. */
export function createService(options: ServiceOptions): Router {
  const { configuration, store, readiness, secretsOf, log, clock, audit, providers } = options
  const { metrics, tracing } = options.instruments
  const { secureCookie } = configuration
  const hasHealth = configuration.health === "on"
  const { sessions, signals, users } = store
  const tokens = createTokenModule({ cacheSize: configuration.tokenCacheSize, now: store.now })
  const { checked, onMissingUserId } = misconfigurations(log, clock)
  const requestSessions = { sessions, signals, tokens, secretsOf, secureCookie, onMissingUserId }
  const caches = sessionCaches(options)
  const services = [
    register(UserService, userService(store, randomUUID)),
    register(PrivateExtraService, privateExtraService({ users })),
    register(AccountService, accountService({ ...store, accessTokens: options.accessTokens })),
    register(SessionService, sessionService({ sessions, logoutUrls: logoutUrls({ ...store, providers, clock }) })),
    register(SessionPolicyService, sessionPolicyService(store)),
    register(SessionCacheService, sessionCacheService(caches)),
    register(SignalService, signalService(signalReceiver(options.verifier, store))),
    register(VerificationTokenService, verificationTokenService(store.verificationTokens)),
    register(AuthenticatorService, authenticatorService(store)),
    register(
      TokenService,
      tokenService({ tokens, secretsOf, secureCookie, longestAge: longestAges(store.sessionPolicies, elapsedTime()) }),
    ),
    register(IntrospectionService, introspectionService(requestSessions)),
    register(Authorization, authorizationService({ ...requestSessions, identity: options.identity })),
    register(EventService, eventService({ events: store.events, feed: options.feed })),
    register(ApiKeyService, apiKeyService(store)),
    register(TenantService, tenantService(store)),
    register(AuditService, auditService(store)),
    register(WebhookService, webhookService({ ...store, egress: options.egress })),
  ]
  const serviceNames = [...services.map(({ desc }) => desc.typeName), PipelineService.typeName]
  const open = [...(hasHealth ? [Health] : []), ServerReflectionV1, ServerReflectionV1Alpha]
  if (hasHealth) services.push(register(Health, healthService({ readiness, serviceNames })))
  if (configuration.reflection === "on") {
    const require = createRequire(import.meta.url)
    const reflection = reflectionService({
      descriptorSet: readFileSync(require.resolve("@authwire/proto/descriptors.binpb")),
      files: [...services.map(({ desc }) => desc), PipelineService, ...open, ErrorReasonSchema, ErrorInfoSchema].map(
        ({ file }) => file,
      ),
      serviceNames: [...serviceNames, ...open.map(({ typeName }) => typeName)],
    })
    services.push(register(ServerReflectionV1, reflection), register(ServerReflectionV1Alpha, reflection))
  }
  const rejected = rejections(log)
  const spans = tracing && callSpans(tracing)
  const logger = logging(log, clock, rejected, [
    ...(spans === undefined ? [] : [() => spans.ended]),
    ...(audit === undefined ? [] : [audit.recorderOf]),
    (method) => (method === Authorization.method.check ? checked : undefined),
    ...(metrics === undefined ? [] : [metrics.recorderOf]),
  ])
  const rejectOnRecord = rejecter({ rejections: rejected, observer: logger, audit: audit?.rejected })
  const reject: Rejecter = (failure, method, transport, givenId) => {
    const error = rejectOnRecord(failure, method, transport, givenId)
    metrics?.rejected(method, transport, error.status.code, failure.reason)
    return error
  }
  const observer: Observer = {
    ...logger,
    rejected(method, transport, requestId, code) {
      if (!rejected.count(method, transport, statusName(code), false))
        logger.rejected(method, transport, requestId, code)
      metrics?.rejected(method, transport, code)
    },
  }
  const limitOptions = { maxCalls: configuration.maxActiveCalls, now: clock, turn: lineOf(() => store.turn("")) }
  // A call waits only for calls of its kind: writes may wait for a lock of the database, reads for a connection, and tokens need
  // no database.
  const concurrency = {
    reads: concurrencyLimit(limitOptions),
    writes: concurrencyLimit(limitOptions),
    tokens: concurrencyLimit(limitOptions),
  }
  for (const [limit, { load }] of Object.entries(concurrency)) metrics?.limit(load, { limit })
  metrics?.sessionCaches(() => caches.hubs.load)
  const rates = rateLimit({
    perSecond: configuration.rateLimit,
    overrides: configuration.rateLimitOverrides,
    now: clock,
  })
  const unknownRate = rates.admit?.(PipelineService.method.pipeline)
  const pauseAfter = rejectionPause()
  const router = createRouter({
    services,
    pipeline: (inside) => {
      const space = Math.min(frameExtraBytes, Math.ceil(configuration.maxMessageBytes / 2))
      const maxMessageBytes = configuration.maxMessageBytes - space
      const implementation = pipelineService({
        ...inside,
        maxInFlight,
        maxMessageBytes,
        reject,
        limitUnknown: (stream) => unknownRate?.(stream),
        pauseAfter,
      })
      return register(PipelineService, implementation)
    },
    observer,
    access: options.access,
    interceptors: [
      rates,
      ...(spans === undefined ? [] : [spans.interceptor]),
      validation(),
      awaitCaches(caches.confirmed),
      hideProviderTokens(),
      idempotency(store),
      ...(audit === undefined ? [] : [audit.interceptor]),
    ],
    maxDeadlineMs: configuration.maxDeadlineMs,
    pauseAfter,
    turn: store.turn,
    // Only Authwire's own methods are limited, so that the service can be monitored under any load.
    limitOf(method) {
      if (!isOwnMethod(method)) return undefined
      if (method.parent === TokenService) return concurrency.tokens
      return isWrite(method) ? concurrency.writes : concurrency.reads
    },
  })
  return {
    ...router,
    async drain(graceMs) {
      await router.drain(graceMs)
      // The lines of the last calls are written with setImmediate.
      await setImmediate()
      caches.hubs.stop()
      rejected.flush()
    },
  }
}
