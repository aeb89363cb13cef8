import type { DescMessage, DescMethodUnary } from "@bufbuild/protobuf"
import type { UnaryResponse } from "@connectrpc/connect"
import { errorFromJsonBytes, trailerDemux, validateResponse } from "@connectrpc/connect/protocol-connect"
import { parse } from "./message.js"

/**
 * Reads the response to a unary call of the Connect protocol (https://connectrpc.com/docs/protocol#unary-response). A
 * message is binary, an error is JSON.
 */
export async function readAnswer<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  response: Response,
): Promise<UnaryResponse<I, O>> {
  const { isUnaryError, unaryError } = validateResponse("unary", true, response.status, response.headers)
  const [header, trailer] = trailerDemux(response.headers)
  const body = new Uint8Array(await response.arrayBuffer())
  if (isUnaryError) throw errorFromJsonBytes(body, [...header, ...trailer], unaryError)
  return { stream: false, service: method.parent, method, header, trailer, message: parse(method.output, body) }
}
