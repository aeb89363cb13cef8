import { endsAfterEach } from "@authwire/test-support/endings.js"
import { pino } from "pino"
import { readinessSwitch } from "../../server/src/health/readiness.js"
import type { Router } from "../../server/src/rpc/router.js"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import { keyBudgets } from "../../server/src/transport/limits/connection.js"
import { openMethods } from "../../server/src/transport/limits/open-methods.js"
import { formatAddress } from "../../server/src/util/address.js"

/** Returns the function that opens both listeners on a router of a test. They are closed after each test. */
export function listensAfterEach() {
  const ends = endsAfterEach()
  return async (router: Router) => {
    const [maxMessageBytes, maxConnections] = [4 * 1024 * 1024, 10]
    const lines: string[] = []
    const options = {
      router,
      address: { host: "127.0.0.1", port: 0 },
      loopbackNames: false,
      maxMessageBytes,
      certificate: undefined,
      maxConnections,
      handshakeTimeoutMs: 10_000,
      idleTimeoutMs: 300_000,
      openMethods: openMethods(),
      keyBudgets: keyBudgets(maxMessageBytes, maxConnections),
      log: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
      readiness: readinessSwitch(),
    }
    const [grpc, http] = [await openGrpcListener(options), await openHttpListener(options)]
    ends(async () => {
      for (const listener of [grpc, http]) {
        listener.stopAccepting()
        await listener.closed(0)
      }
    })
    const [grpcUrl, baseUrl] = [grpc, http].map(({ address }) => `http://${formatAddress(address)}`) as [string, string]
    return { grpcUrl, baseUrl, log: () => lines.join("") }
  }
}
