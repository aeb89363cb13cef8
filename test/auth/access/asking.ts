import { UserService } from "@authwire/proto"
import {
  type BarePipeline,
  errorOf,
  frame,
  openBarePipeline,
} from "@authwire/test-support/connections/bare-pipeline.js"
import type { TestKey } from "@authwire/test-support/processes/keys.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import type { DescMethodUnary } from "@bufbuild/protobuf"
import { ways } from "./ways.js"

const { getUser } = UserService.method

/** A separate call over gRPC. */
export const unary = ways[0] as (typeof ways)[number]

/** The header with the key. */
export const bearer = ({ text }: Pick<TestKey, "text">) => ({ authorization: `Bearer ${text}` })

/** Opens a stream. `ask` returns the outcome of a call: OK, USER_NOT_FOUND, … */
export function open(url: string, key: Pick<TestKey, "text">) {
  const stream: BarePipeline = openBarePipeline(url, bearer(key))
  let id = 0
  return {
    async ask(method: DescMethodUnary = getUser, request = {}, header: Record<string, string> = {}): Promise<string> {
      stream.send({ calls: [frame(++id, method, { id: "nobody", ...request } as never, { header })] })
      const [answer] = await stream.answers(1)
      if (answer?.outcome.case === "message") return "OK"
      return errorOf(answer as NonNullable<typeof answer>).reason ?? "none"
    },
    close: () => stream.cancel(),
  }
}

/** Returns the outcome of a separate call: OK, the reason of an error, or what the client says of an error without one. */
export async function ask(server: ServerProcess, key: Pick<TestKey, "text">, request: object = { id: "nobody" }) {
  const { code, reason, text } = await unary.call(server, getUser, request, bearer(key))
  return reason ?? text ?? code
}
