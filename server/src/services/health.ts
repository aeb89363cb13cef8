import { type Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import { Code } from "@connectrpc/connect"
import { Failure } from "../errors/failure.js"
import type { Readiness } from "../health/readiness.js"
import type { Implementation } from "../rpc/call.js"

/** The most services that an answer of List may name. */
const maxListed = 100

/**
 * Creates grpc.health.v1.Health. The whole service (an empty name) and each of `serviceNames` are SERVING while the
 * service is ready, that is, while its database answers and it does not shut down.
 */
export function healthService(deps: {
  readiness: Readiness
  serviceNames: readonly string[]
}): Implementation<typeof Health> {
  const { readiness } = deps
  const known = new Set(["", ...deps.serviceNames])
  const current = () => (readiness.ready ? Status.SERVING : Status.NOT_SERVING)

  return {
    async check({ service }) {
      if (!known.has(service)) throw new Failure("SERVICE_UNKNOWN")
      return { status: current() }
    },
    async list() {
      if (known.size > maxListed) {
        const message = `the service has more than ${maxListed} services`
        throw new Failure("INVALID_FIELD", { code: Code.ResourceExhausted, message })
      }
      const status = current()
      return { statuses: Object.fromEntries([...known].map((name) => [name, { status }])) }
    },
    async *watch({ service }, { signal }) {
      if (!known.has(service)) {
        yield { status: Status.SERVICE_UNKNOWN }
        await readiness.changed(signal, () => false)
        return
      }
      for (;;) {
        const status = current()
        yield { status }
        await readiness.changed(signal, () => current() !== status)
        // Aborted without a new status. A shutdown has a new one, so its last message is NOT_SERVING.
        if (current() === status) return
      }
    },
  }
}
