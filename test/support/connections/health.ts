import { UserService } from "@authwire/proto"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node"
import type { ServerProcess } from "../processes/server.js"

/** Opens clients of several services that share one connection, which is opened again if it breaks. */
export function connection(baseUrl: string) {
  const sessionManager = new Http2SessionManager(baseUrl)
  const transport = createGrpcTransport({ baseUrl, sessionManager })
  return {
    users: createClient(UserService, transport),
    health: createClient(Health, transport),
    close: () => sessionManager.abort(),
  }
}

const timeoutMs = 15_000

/**
 * Returns the results of `count` health checks over new connections through each listener, and of as many of `/readyz`.
 */
export async function healthAnswers(server: ServerProcess, count = 6): Promise<string[]> {
  const check = async (url: string) => {
    const { health, close } = connection(url)
    try {
      return Status[(await health.check({}, { timeoutMs })).status]
    } finally {
      close()
    }
  }
  const probe = async () => {
    const { ok } = await fetch(`${server.httpUrl}/readyz`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(timeoutMs),
    })
    return ok ? "SERVING" : "NOT_SERVING"
  }
  const asked = Array.from({ length: count }, () => [check(server.grpcUrl), check(server.httpUrl), probe()])
  return (await Promise.all(asked.flat())).map(String)
}
