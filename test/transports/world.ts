import { setTimeout as delay } from "node:timers/promises"
import type { AuthwireClient } from "@authwire/client"
import {
  AccountService,
  AuthenticatorService,
  IntrospectionService,
  SessionService,
  TokenService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { wireError } from "@authwire/test-support/connections/wire-error.js"
import type { DatabaseTarget } from "@authwire/test-support/databases/databases.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import type { DescMethodUnary, Message } from "@bufbuild/protobuf"
import { type CallOptions, Code } from "@connectrpc/connect"
import { afterAll, beforeAll } from "@jest/globals"
import { carriers, unary } from "./carriers.js"

/** A service, a client of it over each carrier, and the client with which the others are compared. */
export interface World {
  authwire: Authwire
  server: ServerProcess
  /** Another process on the same database that accepts requests of at most one KiB. */
  small: ServerProcess
  /** Another one whose calls end after 300 ms. */
  hurried: ServerProcess
  clients: Record<string, AuthwireClient>
  reference: AuthwireClient
}

/** The largest request of the service, and the largest message of a call in a pipeline, in bytes. */
export const maxMessageBytes = 2 * 1024 * 1024
export const maxPipelinedBytes = maxMessageBytes - 64 * 1024

/** Options of clients with a long timeout, so that a busy machine does not fail the tests. */
export const patient = { timeoutMs: 30_000 }

/** Starts the service before the tests of the block, and stops it after them. */
export function useWorld(target: DatabaseTarget): World {
  const world = {} as World
  beforeAll(async () => {
    // The concurrency limit is not tested here either.
    const noOverload = "--max-active-calls=1000000"
    const authwire = await startAuthwire(target, { args: [noOverload, `--max-message-bytes=${maxMessageBytes}`] })
    const { server, database } = authwire
    const start = (...args: string[]) => startServer({ databaseUrl: database.url, args })
    const small = await start(noOverload, "--max-message-bytes=1024")
    const hurried = await start("--max-deadline-ms=300")
    const clients = Object.fromEntries(carriers.map((carrier) => [carrier.name, carrier.connect(server, patient)]))
    Object.assign(world, { authwire, server, small, hurried, clients, reference: clients[unary.name] })
  })
  afterAll(async () => {
    for (const client of Object.values(world.clients)) client.close()
    await Promise.all([world.small.stop(), world.hurried.stop()])
    await world.authwire.close()
  })
  return world
}

const clientNames = {
  [UserService.typeName]: "users",
  [AccountService.typeName]: "accounts",
  [SessionService.typeName]: "sessions",
  [VerificationTokenService.typeName]: "verificationTokens",
  [AuthenticatorService.typeName]: "authenticators",
  [TokenService.typeName]: "tokens",
  [IntrospectionService.typeName]: "introspection",
} as const

export const services = [
  UserService,
  AccountService,
  SessionService,
  VerificationTokenService,
  AuthenticatorService,
  TokenService,
  IntrospectionService,
]
/** Every unary method of the typed clients, which do not have PrivateExtraService. */
export const methods = services.flatMap((service) => service.methods as DescMethodUnary[])

/** Calls a method with the typed client of its service. */
export function call(
  client: AuthwireClient,
  method: DescMethodUnary,
  request: object,
  options?: CallOptions,
): Promise<Message> {
  const typed = client[clientNames[method.parent.typeName] as "users"] as unknown as Record<
    string,
    (request: object, options?: CallOptions) => Promise<Message>
  >
  return (typed[method.localName] as (typeof typed)[string])(request, options)
}

/** All information that a caller gets about a failed call. */
export interface Failed {
  code: string
  message: string
  infos: { reason: string; domain: string; metadata: Record<string, string> }[]
  violations: { field: string; description: string }[]
  details: string[]
  /** Why the network failed, if it did. */
  cause?: string
}

/** Returns how a call fails. Rejects if it succeeds, or fails with anything but an error of a transport. */
export async function failureOf(pending: Promise<unknown>): Promise<Failed> {
  const error = wireError(
    await pending.then(
      () => new Error("the call succeeded"),
      (caught: unknown) => caught,
    ),
  )
  return {
    code: Code[error.code],
    message: error.rawMessage,
    infos: error
      .findDetails(ErrorInfoSchema)
      .map(({ reason, domain, metadata }) => ({ reason, domain, metadata: { ...metadata } })),
    violations: error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field, description }) => ({ field, description }))),
    details: error.details.map((detail) => ("type" in detail ? detail.type : detail.desc.typeName)),
    ...networkCause(error),
  }
}

/** The error of `fetch` says only that it has failed. Its cause says why. */
function networkCause({ cause }: Error): Pick<Failed, "cause"> {
  return cause instanceof Error && cause.cause !== undefined ? { cause: String(cause.cause) } : {}
}

/** The log line of a call. */
export interface Line {
  method: string
  transport: string
  code: string
  reason?: string
  request_id: string
  msg: string
}

/** The lines that a server has logged, by their request id, and how much of its log was read for them. */
const logs = new WeakMap<ServerProcess, { read: number; lines: Map<string, Line[]> }>()

function linesIn(server: ServerProcess): Map<string, Line[]> {
  const found = logs.get(server) ?? { read: 0, lines: new Map<string, Line[]>() }
  logs.set(server, found)
  const log = server.log()
  const end = log.lastIndexOf("\n") + 1
  for (const text of log.slice(found.read, end).split("\n")) {
    const id = /"request_id":"([^"]+)"/.exec(text)?.[1]
    if (id === undefined) continue
    found.lines.set(id, [...(found.lines.get(id) ?? []), JSON.parse(text) as Line])
  }
  found.read = end
  return found.lines
}

/** Waits for the lines of all calls with this request id. Rejects if there is none after ten seconds. */
export async function linesOf(server: ServerProcess, requestId: string): Promise<Line[]> {
  const end = performance.now() + 10_000
  for (;;) {
    const lines = linesIn(server).get(requestId)
    if (lines !== undefined) return lines
    if (performance.now() > end) throw new Error(`the log has no call ${requestId}`)
    await delay(2)
  }
}

/** Resolves when everything that has happened so far is in the log. */
export async function logged(world: World): Promise<void> {
  const id = crypto.randomUUID()
  await failureOf(world.reference.users.getUser({ id: "nobody" }, { headers: { "x-request-id": id } }))
  await linesOf(world.server, id)
}
