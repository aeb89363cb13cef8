import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"

const empty = Buffer.alloc(5)

/**
 * Returns health checks of a service, each over a new connection. They return false or reject if there is no good
 * answer in time.
 */
export function healthQuestions(grpcUrl: string, httpUrl: string, patienceMs: number) {
  return {
    async grpc(): Promise<boolean> {
      const connection = attackConnection(grpcUrl)
      const end = await endOf(connection.open(header(paths.check), empty), patienceMs)
      connection.close()
      return end === "0 NO_ERROR"
    },
    async http(path: "/healthz" | "/readyz"): Promise<boolean> {
      const signal = AbortSignal.timeout(patienceMs)
      const { ok } = await fetch(httpUrl + path, { headers: { connection: "close" }, signal })
      return ok
    },
  }
}
