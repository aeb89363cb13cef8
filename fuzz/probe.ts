import { CreateUserRequestSchema, GetUserRequestSchema, UserService } from "@authwire/proto"
import { Health, HealthCheckRequestSchema } from "@authwire/proto/health"
import { create, type DescMethod, type Message, toBinary } from "@bufbuild/protobuf"
import { envelope } from "./generate/calls.ts"
import { pathOf } from "./generate/messages.ts"
import type { CallInput } from "./inputs.ts"
import type { CallSender } from "./send/call.ts"
import { judge } from "./verdict.ts"

/** The id of a user that no input changes. */
const id = "the-user-that-stays"

/** Creates the user of the probes. */
export async function makeAnchor(calls: CallSender): Promise<void> {
  const request = create(CreateUserRequestSchema, { id, name: "Ada" })
  await calls.send(http(UserService.method.createUser, request))
}

/**
 * Checks health and a read at both listeners. Returns undefined if all is well, otherwise a description of the wrong
 * answer.
 */
export async function probe(calls: CallSender): Promise<string | undefined> {
  const user = create(GetUserRequestSchema, { id })
  const health = create(HealthCheckRequestSchema)
  const asked = [
    http(Health.method.check, health),
    http(UserService.method.getUser, user),
    grpc(Health.method.check, health),
    grpc(UserService.method.getUser, user),
  ]
  for (const input of asked) {
    const outcome = await calls.send(input)
    const { label } = judge(outcome)
    const named = outcome.end === "answered" && (!input.path.includes("GetUser") || outcome.body.includes("Ada"))
    if (label !== "OK" || !named) return `${input.path} at the ${input.transport} transport is ${label}`
  }
  return undefined
}

function http(method: DescMethod, request: Message): CallInput {
  const body = Buffer.from(toBinary(method.input, request))
  return { ...common(method), transport: "http", headers: [["content-type", "application/proto"]], body }
}

function grpc(method: DescMethod, request: Message): CallInput {
  const body = envelope(toBinary(method.input, request))
  return {
    ...common(method),
    transport: "grpc",
    headers: [
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ],
    body,
  }
}

function common(method: DescMethod) {
  return { kind: "call", version: 2, method: "POST", path: pathOf(method) } as const
}
