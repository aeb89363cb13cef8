import { adapterMethods } from "./adapter/adapter.js"

type Call = (...given: never[]) => Promise<unknown>

/**
 * Returns the typed clients with calls that throw AuthwireError, as the adapter's do, instead of the ConnectError of the
 * transport, which is its `cause`. Its `method` is the name of the client and that of the method, such as `"users.getUser"`.
 *
 * @param address - The address of the service, for error messages.
 */
export function withCallErrors<Clients extends { [Name in keyof Clients]: Record<string, Call> }>(
  clients: Clients,
  address: string,
): Clients {
  const calling = adapterMethods(address)
  const over = ([name, client]: [string, Record<string, Call>]) => {
    const methods = Object.entries(client).map(([method, call]) => [method, calling(`${name}.${method}`, call)])
    return [name, Object.fromEntries(methods)]
  }
  return Object.fromEntries(Object.entries<Record<string, Call>>(clients).map(over)) as Clients
}
