// The program that the suite starts in server mode: one listener of Authwire with its router and limits, for the suite's own service.
//
//   node test/conformance/server.ts grpc|http

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pino } from "pino"
import { Failure, toFailure } from "../../server/dist/errors/failure.js"
import { readinessSwitch } from "../../server/dist/health/readiness.js"
import { rejectionPause } from "../../server/dist/overload/pause.js"
import type { Interceptor } from "../../server/dist/rpc/interceptor.js"
import { createRouter, type Method, type Router } from "../../server/dist/rpc/router.js"
import { openHttpListener } from "../../server/dist/transport/connect/http.js"
import { openGrpcListener } from "../../server/dist/transport/grpc/grpc.js"
import { keyBudgets } from "../../server/dist/transport/limits/connection.js"
import { openMethods } from "../../server/dist/transport/limits/open-methods.js"
import { type CertificateFiles, watchCertificate } from "../../server/dist/transport/tls/certificate.js"
import { readMessages, registry, type ServerCompatRequest, schemaOf, writeMessage } from "./messages.ts"
import { conformance } from "./service.ts"

/** The defaults of `authwire serve`. */
const [maxMessageBytes, maxConnections] = [4 * 1024 * 1024, 1_000]

const log = pino({ level: "error" }, process.stderr)

/** Every call has the same key, so that its limits apply. */
const access: Interceptor = {
  admit: () => (call) => {
    call.identity = { tenant: "conformance", keyId: "conformance", hasScope: () => true }
    return undefined
  },
}

async function listen(kind: string | undefined, asked: ServerCompatRequest) {
  const largest = asked.messageReceiveLimit || maxMessageBytes
  const router = withoutReasons(
    createRouter({
      services: [conformance],
      observer: { clock: () => performance.now(), recorderOf: () => () => {}, rejected() {} },
      access,
      interceptors: [],
      maxDeadlineMs: 30_000,
      limitOf: () => undefined,
      pauseAfter: rejectionPause(),
      registry,
    }),
  )
  const options = {
    router,
    address: { host: "127.0.0.1", port: 0 },
    loopbackNames: false,
    maxMessageBytes: largest,
    certificate: asked.useTls ? certificateOf(asked) : undefined,
    maxConnections,
    handshakeTimeoutMs: 10_000,
    idleTimeoutMs: 300_000,
    openMethods: openMethods(),
    keyBudgets: keyBudgets(largest, maxConnections),
    log,
  }
  if (kind === "grpc") return openGrpcListener(options)
  if (kind === "http") return openHttpListener({ ...options, readiness: readinessSwitch() })
  throw new Error("the argument must be grpc or http")
}

/**
 * Removes the details of Authwire's own errors, which name its reasons: the suite expects none. Only at a deadline the suite can see
 * them, if the answer reaches its client before that has given up.
 */
function withoutReasons(router: Router): Router {
  const remove = (error: unknown): never => {
    const { reason, code, message, details = [] } = toFailure(error)
    throw new Failure(reason, { code, message, details })
  }
  const removing = (method: Method): Method => ({
    ...method,
    unary: (read, call) => method.unary(read, call).catch(remove),
    unaryBytes: (read, call) => method.unaryBytes(read, call).catch(remove),
    unaryJson: (read, call) => method.unaryJson(read, call).catch(remove),
    async *stream(requests, call) {
      try {
        yield* method.stream(requests, call)
      } catch (error) {
        remove(error)
      }
    },
  })
  const services = router.services.map(({ desc, methods }) => ({ desc, methods: methods.map(removing) }))
  return { ...router, services }
}

function certificateOf({ serverCreds, clientTlsCert }: ServerCompatRequest) {
  if (serverCreds === undefined) throw new Error("the suite has sent no certificate")
  const folder = mkdtempSync(join(tmpdir(), "conformance-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const written = (name: string, bytes: Uint8Array) => {
    writeFileSync(join(folder, name), bytes, { mode: 0o600 })
    return join(folder, name)
  }
  const files: CertificateFiles = {
    cert: written("cert.pem", serverCreds.cert),
    key: written("key.pem", serverCreds.key),
    clientCa: clientTlsCert.length > 0 ? written("client-ca.pem", clientTlsCert) : undefined,
  }
  return watchCertificate(files, log)
}

// The suite ends the program by a signal.
process.once("SIGTERM", () => process.exit())
for await (const asked of readMessages<ServerCompatRequest>(process.stdin, schemaOf("ServerCompatRequest"))) {
  const { address } = await listen(process.argv[2], asked)
  writeMessage(process.stdout, schemaOf("ServerCompatResponse"), {
    host: address.host,
    port: address.port,
    pemCert: asked.serverCreds?.cert ?? new Uint8Array(),
  })
}
