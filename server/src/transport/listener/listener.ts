import type { Logger } from "pino"
import type { Router } from "../../rpc/router.js"
import type { Address } from "../../util/address.js"
import type { KeyBudgets } from "../limits/connection.js"
import type { OpenMethods } from "../limits/open-methods.js"
import type { CertificateSource } from "../tls/certificate.js"

/** A listener that passes calls to the router. */
export interface Listener {
  readonly address: Address
  /** Stops accepting connections and asks the clients of open connections to reconnect elsewhere. */
  stopAccepting(): void
  /** Resolves once every connection is closed. Connections that are still open after `graceMs` are destroyed. */
  closed(graceMs: number): Promise<void>
}

export interface ListenerOptions {
  router: Router
  address: Address
  /** Whether processes of the same user may listen at the same address (SO_REUSEPORT). Default: false. */
  reusePort?: boolean
  /** Whether only requests that name a loopback host are answered; see namesLoopback. */
  loopbackNames: boolean
  /** The largest request, in bytes. A larger one is rejected with RESOURCE_EXHAUSTED. */
  maxMessageBytes: number
  /** The TLS certificate. Undefined: the listener does not use TLS. */
  certificate: CertificateSource | undefined
  /** The maximum number of concurrent connections. Further ones are closed at once. */
  maxConnections: number
  /** The timeout for the TLS handshake, the HTTP/2 preface or the HTTP/1.1 header, in milliseconds. */
  handshakeTimeoutMs: number
  /** The idle timeout of an HTTP/2 connection without streams, in milliseconds. */
  idleTimeoutMs: number
  /** Limits the streams of methods that require no key, over all listeners of the process. */
  openMethods: OpenMethods
  /** Limits the memory, the streams and the connections of one API key and of one tenant, over all listeners of the process. */
  keyBudgets: KeyBudgets
  log: Logger
}
