import type { Logger } from "pino"
import type { Router } from "../rpc/router.js"
import type { Address } from "./address.js"
import type { OpenMethods } from "./budgets/open-methods.js"
import type { KeyBudgets } from "./connection.js"
import type { CertificateSource } from "./tls/certificate.js"

/** A way into the router. */
export interface Listener {
  readonly address: Address
  /** Takes no more connections, and asks the clients of those that are open to go elsewhere. */
  stopAccepting(): void
  /** Resolves once every connection is closed; those still open after `graceMs` are cut. */
  closed(graceMs: number): Promise<void>
}

export interface ListenerOptions {
  router: Router
  address: Address
  /** The largest request, in bytes. A larger one is RESOURCE_EXHAUSTED. */
  maxMessageBytes: number
  /** Undefined: the listener speaks without TLS. */
  certificate: CertificateSource | undefined
  /** Connections at the same time; one more is closed at once. */
  maxConnections: number
  /** How long a client may take for the TLS handshake, the preface of HTTP/2 or the header of HTTP/1.1. */
  handshakeTimeoutMs: number
  /** How long a connection of HTTP/2 without streams stays open. */
  idleTimeoutMs: number
  /** Bounds the streams of methods that need no key, of all listeners of the process. */
  openMethods: OpenMethods
  /** Bounds what one key holds, over all listeners of the process. */
  keyBudgets: KeyBudgets
  log: Logger
}
