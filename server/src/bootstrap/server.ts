import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import { startCleaner } from "../cleanup/cleaner.js"
import type { Configuration } from "../config/configuration.js"
import { StartError } from "../errors/start-error.js"
import { eventFeed } from "../events/feed.js"
import { monitorDatabase, readinessSwitch } from "../health/readiness.js"
import { identityKeys } from "../identity/identity-keys.js"
import { openAudit } from "../logging/audit-log.js"
import { auditTable } from "../logging/audit-table.js"
import { accessTokens } from "../provider-tokens/access-tokens.js"
import { signalVerifier } from "../signals/verifier.js"
import type { Store } from "../store/store.js"
import { openHttpListener } from "../transport/connect/http.js"
import { openGrpcListener } from "../transport/grpc/grpc.js"
import { keyBudgets } from "../transport/limits/connection.js"
import { openMethods } from "../transport/limits/open-methods.js"
import { listenError } from "../transport/listener/listen.js"
import type { Listener, ListenerOptions } from "../transport/listener/listener.js"
import { openMetricsListener } from "../transport/metrics.js"
import { CertificateError, type CertificateFiles, watchCertificate } from "../transport/tls/certificate.js"
import type { Address } from "../util/address.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { startDispatcher } from "../webhooks/dispatcher.js"
import { WebhookSender } from "../webhooks/sender.js"
import { openAccess } from "./auth.js"
import type { Addresses } from "./banner.js"
import { openProviders, openTenantSecrets } from "./followed-files.js"
import type { Instruments } from "./instruments.js"
import { createService } from "./service.js"

export interface ServeOptions {
  /** The store. It is closed at the end. */
  store: Store
  log: Logger
  /** Record calls and the state of the database. */
  instruments: Instruments
  /** Called once, when every listener is open. */
  onListening: (addresses: Addresses) => void
  /** Resolves when the service is to stop. From then on it reports that it is not ready. */
  stopped: Promise<unknown>
}

/** Serves until `stopped` resolves, then lets calls finish within the grace period. Throws StartError. */
export async function runServer(configuration: Configuration, options: ServeOptions): Promise<void> {
  const { store, log, instruments } = options
  const { metrics, tracing } = instruments
  const readiness = readinessSwitch()
  const clock = performance.now.bind(performance)
  const { shutdownGraceMs: graceMs } = configuration
  const listeners: Listener[] = []
  /** What stops each part, in the order of their starts. They are stopped in the reverse order. */
  const stops: (() => unknown)[] = [() => tracing?.stop(), () => store.close()]
  try {
    const certificate = readCertificate(configuration, log)
    stops.push(() => certificate?.stop())
    const monitor = await monitorDatabase({
      store,
      log,
      onChange: (answers) => {
        metrics?.database(answers)
        readiness.set(answers)
      },
      onClock: (offsetMs) => metrics?.clockOffset(offsetMs),
      onDetail: (detail) => {
        readiness.detail = detail
      },
    })
    const access = await openAccess(configuration, { store, log })
    stops.push(access.stop)
    const secrets = openTenantSecrets(configuration, log)
    stops.push(secrets.stop)
    const entries = configuration.auditStore === "database" ? auditTable(store.audit, log) : undefined
    stops.push(() => entries?.stop())
    const audit = openAudit(configuration, { log, table: entries, now: store.now })
    const providers = openProviders(configuration, { log, env: process.env })
    stops.push(providers.stop)
    const clocks = { now: store.now, clock, elapsed: elapsedTime() }
    const refreshes = accessTokens({ tokenRefreshes: store.tokenRefreshes, providers, log, ...clocks })
    const verifier = signalVerifier({ providers, ...clocks })
    // The answer of a provider is stored even if no call waits for it any more.
    stops.push(() => refreshes.stop(graceMs))
    const { identityIssuer: issuer, signingKeyAge: maxAgeMs } = configuration
    const identity =
      issuer === undefined
        ? undefined
        : {
            issuer,
            now: store.now,
            keys: await identityKeys({ store: store.signingKeys, log, now: store.now, maxAgeMs }),
          }
    stops.push(() => identity?.keys.stop())
    const feed = eventFeed({
      events: store.events,
      clock: store.now,
      observer: metrics?.events,
      onFailure: (error) => log.warn({ err: error }, "the events cannot be read: retrying"),
    })
    stops.push(feed.stop)
    const egress = { dev: configuration.dev, allowPrivate: configuration.webhookAllowPrivate ?? [] }
    const router = createService({
      configuration,
      store,
      feed,
      readiness,
      log,
      clock,
      access: access.interceptor,
      audit,
      instruments,
      secretsOf: secrets.of,
      accessTokens: refreshes,
      identity,
      verifier,
      providers,
      egress,
    })
    const { maxMessageBytes, maxConnections, handshakeTimeoutMs, idleTimeoutMs } = configuration
    const limits = { maxMessageBytes, maxConnections, handshakeTimeoutMs, idleTimeoutMs }
    const common = {
      router,
      certificate,
      openMethods: openMethods(),
      keyBudgets: keyBudgets(maxMessageBytes, maxConnections),
      loopbackNames: configuration.dev,
      reusePort: configuration.reusePort,
      log,
      ...limits,
    }
    stops.push(() => {
      for (const listener of listeners) listener.stopAccepting()
      // The calls are over. One second is enough to send their last bytes.
      return Promise.all(listeners.map((listener) => listener.closed(1000)))
    })
    const open = async (
      flag: string,
      address: Address | undefined,
      opener: (options: ListenerOptions) => Promise<Listener>,
    ) => {
      if (address === undefined) return undefined
      const listener = await opener({ ...common, address }).catch((error: unknown) => {
        throw listenError(flag, address, error, configuration.reusePort && flag !== "--metrics-addr")
      })
      listeners.push(listener)
      return listener.address
    }
    const grpc = await open("--grpc-addr", configuration.grpcAddr, openGrpcListener)
    const http = await open("--http-addr", configuration.httpAddr, (one) =>
      openHttpListener({ ...one, readiness, keySet: identity?.keys.keySet, verifier }),
    )
    const read = async () => (await metrics?.text()) ?? ""
    const metricsAddress = await open("--metrics-addr", configuration.metricsAddr, (one) =>
      openMetricsListener({ ...one, read }),
    )
    options.onListening({ grpc, http, metrics: metricsAddress })
    const { cleanupInterval: intervalMs, cleanupKeep: keepMs } = configuration
    const cleaner =
      intervalMs > 0 ? startCleaner({ store, log, observer: metrics?.cleanup, intervalMs, keepMs }) : undefined
    stops.push(() => cleaner?.stop(graceMs))
    const dispatcher = store.events.isEnabled
      ? startDispatcher({
          ...{ store, sender: new WebhookSender(egress), log },
          observer: metrics?.webhooks,
          audit: audit?.record,
        })
      : undefined
    stops.push(() => dispatcher?.stop(graceMs))

    await options.stopped
    readiness.stop()
    if (configuration.drainDelayMs > 0) await delay(configuration.drainDelayMs)
    monitor.stop()
    for (const listener of listeners) listener.stopAccepting()
    await Promise.all([router.drain(graceMs), cleaner?.stop(graceMs), dispatcher?.stop(graceMs)])
    audit?.flush()
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

function readCertificate({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: Configuration, log: Logger) {
  if (cert === undefined || key === undefined) return undefined
  const files: CertificateFiles = { cert, key, clientCa }
  try {
    return watchCertificate(files, log)
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    const flag = { cert: "--tls-cert", key: "--tls-key", clientCa: "--tls-client-ca" }[error.file]
    throw new StartError(`${flag}: ${files[error.file]} ${error.message}`, { cause: error })
  }
}
