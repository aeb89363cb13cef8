import { lookup } from "node:dns/promises"
import { isIPv6 } from "node:net"
import type { ChannelOptions } from "@grpc/grpc-js"
import type { GrpcTarget } from "../transport/grpc-target.js"

/** One endpoint that serves, as a target of grpc-js. */
export interface Endpoint {
  readonly target: string
  readonly settings: ChannelOptions
}

/** Finds the IP addresses of a name. Rejects if that fails. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** How the system resolves names: also by its hosts file. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

/**
 * The endpoints of a target. `http://` and `https://` have one, whose name grpc-js resolves itself; `dns:///` has one for
 * each address of the name, and each of them must prove to be the name in TLS.
 */
export async function endpointsOf(
  { target, spread, settings }: GrpcTarget,
  resolve: Resolve,
): Promise<readonly Endpoint[]> {
  if (spread === undefined) return [{ target, settings }]
  const { host, port } = spread
  const authority = settings["grpc.default_authority"] ?? `${host}:${port}`
  const addresses = [...new Set(await resolve(host))]
  return addresses.map((address) => ({
    target: isIPv6(address) ? `ipv6:[${address}]:${port}` : `ipv4:${address}:${port}`,
    settings: { "grpc.ssl_target_name_override": host, ...settings, "grpc.default_authority": authority },
  }))
}
