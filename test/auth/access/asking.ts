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

/** A call of its own over gRPC. */
export const unary = ways[0] as (typeof ways)[number]

/** The header that brings a key. */
export const bearer = ({ text }: Pick<TestKey, "text">) => ({ authorization: `Bearer ${text}` })

/** A stream that is open, and the reasons that its calls end with: OK, USER_NOT_FOUND, … */
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

/** How a call of its own ends. */
export async function ask(server: ServerProcess, key: Pick<TestKey, "text">, request: object = { id: "nobody" }) {
  const { code, reason } = await unary.call(server, getUser, request, bearer(key))
  return reason ?? code
}
