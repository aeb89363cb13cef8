import type { OptionDefinition } from "./option.js"
import { address, boolean, choice, integer, text } from "./values.js"

/** Options of the listeners and their connections. */
export const listenerOptions = {
  grpcAddr: {
    isCommon: true,
    value: address(),
    default: "127.0.0.1:50051",
    help: "Address of the gRPC listener. Port 0 picks a free one; off closes the listener.",
    commands: ["serve", "doctor"],
  },
  httpAddr: {
    isCommon: true,
    value: address(),
    default: "127.0.0.1:8080",
    help: "Address of the HTTP listener (Connect, gRPC-Web, gRPC, probes). Port 0 picks a free one; off closes the listener.",
    commands: ["serve", "doctor"],
  },
  metricsAddr: {
    isCommon: true,
    value: address(),
    default: "off",
    help: "Address at which GET /metrics serves metrics for Prometheus, without TLS and without an API key. They contain no data of users. Port 0 picks a free one.",
    commands: ["serve", "doctor"],
  },
  reusePort: {
    value: boolean(),
    default: "false",
    help: "Listen with SO_REUSEPORT, so that several processes of one user serve at the same addresses; the kernel spreads new connections over them. On Linux, and with a database server. Each process needs its own --metrics-addr.",
  },
  tlsCert: {
    isCommon: true,
    value: text("FILE"),
    help: "Enables TLS at both listeners. The certificate in PEM, followed by the intermediate certificates up to its root. It is read again when the files change. Required, with --tls-key, to listen on other addresses than loopback, unless --insecure-behind-proxy is given.",
    commands: ["serve", "doctor"],
  },
  tlsKey: {
    isCommon: true,
    value: text("FILE"),
    help: "The private key of --tls-cert in PEM, without a passphrase.",
    commands: ["serve", "doctor"],
  },
  tlsClientCa: {
    value: text("FILE"),
    help: "Enables client certificates (mTLS): the CA certificates that may sign them, in PEM. A client whose certificate does not verify is rejected; one without a certificate is accepted.",
    commands: ["serve", "doctor"],
  },
  insecureBehindProxy: {
    value: boolean(),
    default: "false",
    help: "Listen on any address without TLS: for a trusted network in which a proxy in front of the service terminates TLS.",
    commands: ["serve", "doctor"],
  },
  reflection: {
    value: choice(["on", "off"]),
    default: "on",
    help: "Whether the service describes itself (gRPC server reflection), without an API key.",
  },
  health: {
    value: choice(["on", "off"]),
    default: "on",
    help: "Whether grpc.health.v1.Health is served, which needs no API key. The probes of the HTTP listener are not affected.",
  },
  maxConnections: {
    value: integer(1, 1_000_000),
    default: "10000",
    help: "The maximum number of concurrent connections at each listener, in each process; further ones are closed at once.",
  },
  handshakeTimeoutMs: {
    value: integer(100, 600_000),
    default: "10000",
    help: "The timeout of a new connection for the TLS handshake, and then for its first bytes (the HTTP/2 preface, or the header of an HTTP/1.1 request), in milliseconds each.",
  },
  idleTimeoutMs: {
    value: integer(100, 2_147_483_647),
    default: "900000",
    help: "How long an HTTP/2 connection stays open without a call, in milliseconds. The client reconnects when it needs to.",
  },
} as const satisfies Record<string, OptionDefinition>
