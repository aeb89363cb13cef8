import { Code, ConnectError } from "@connectrpc/connect"

/** Returns the request of a server stream, which Connect passes as the only item of an iteration. */
export async function onlyMessage<T>(input: AsyncIterable<T>): Promise<T> {
  for await (const message of input) return message
  throw new ConnectError("the request has no message", Code.InvalidArgument)
}
