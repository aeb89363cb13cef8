import { Resolver } from "node:dns/promises"

/** The time of one question to a DNS server, in milliseconds. It is asked twice. */
const questionMs = 2_500

/**
 * Returns the addresses of a host name, first those of IPv4. Asks DNS directly. The resolver of the system would occupy a
 * thread of the process until a slow server answers, and few threads resolve the names of all others, such as the
 * database. Rejects if there is no address, and with the signal's reason.
 *
 * @param nameServers The DNS servers, as in `dns.setServers`. Default: those of the system.
 */
export async function resolve(host: string, signal: AbortSignal, nameServers?: readonly string[]): Promise<string[]> {
  const resolver = new Resolver({ timeout: questionMs, tries: 2, maxTimeout: questionMs })
  if (nameServers !== undefined) resolver.setServers(nameServers)
  const cancel = () => resolver.cancel()
  signal.throwIfAborted()
  signal.addEventListener("abort", cancel, { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  signal.removeEventListener("abort", cancel)
  signal.throwIfAborted()
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
  if (addresses.length > 0) return addresses
  const errors = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []))
  throw errors.find(({ code }) => code !== "ENODATA" && code !== "ENOTFOUND") ?? errors[0]
}
