import { callError } from "../error.js"

/**
 * Makes the function that runs the calls of an adapter: what a call throws comes out as AuthwireError, with the name of
 * the method.
 *
 * @param address - Where the service is, for error messages.
 */
export function caller(address: string) {
  return async function call<T>(method: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw callError(method, address, error)
    }
  }
}
