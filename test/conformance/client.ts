// The program that the suite starts in client mode: it makes the calls of the suite through a transport of @authwire/client.
//
//   node test/conformance/client.ts grpc|fetch

import { setDefaultCACertificates } from "node:tls"
import type { DescMethodUnary, Message } from "@bufbuild/protobuf"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { fetchTransport } from "../../client/dist/transport/fetch.js"
import { grpcTransport } from "../../client/dist/transport/grpc.js"
import {
  type ClientCompatRequest,
  conformanceService,
  type Header,
  readMessages,
  registry,
  schemaOf,
  writeMessage,
} from "./messages.ts"

/** When a call without a timeout is cancelled, in milliseconds: a call of an application always has one. */
const longestMs = 5_000

const kind = process.argv[2]
const transports = new Map<string, Transport & { close?: () => void }>()

/** Returns the transport to a server of the suite. Its calls share one, as those of an application do. */
function transportOf({ host, port, serverTlsCert, clientTlsCreds }: ClientCompatRequest): Transport {
  const isSecure = serverTlsCert.length > 0
  const url = `${isSecure ? "https" : "http"}://${host}:${port}`
  const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString())
  const tls = { ca: text(serverTlsCert), cert: text(clientTlsCreds?.cert), key: text(clientTlsCreds?.key) }
  const key = JSON.stringify([url, tls])
  const open = () => {
    if (kind === "grpc") return grpcTransport({ url, ...(isSecure && { tls }) })
    // What fetch trusts is a matter of the process.
    if (tls.ca) setDefaultCACertificates([tls.ca])
    return fetchTransport({ url })
  }
  const transport = transports.get(key) ?? open()
  transports.set(key, transport)
  return transport
}

async function answer(asked: ClientCompatRequest): Promise<Record<string, unknown>> {
  const name = asked.method ?? "Unary"
  const method = conformanceService.methods.find((one) => one.name === name)
  const [message] = asked.requestMessages
  const input = message && anyUnpack(message, registry)
  if (method?.methodKind !== "unary" || input === undefined) throw new Error(`${name} is no unary call with a request`)
  const timing = asked.cancel?.cancelTiming
  const signal = AbortSignal.timeout(timing?.case === "afterCloseSendMs" ? Number(timing.value) : longestMs)
  const header = new Headers()
  for (const { name, value } of asked.requestHeaders) for (const one of value) header.append(name, one)
  try {
    const transport = transportOf(asked)
    const response = await transport.unary(method as DescMethodUnary, signal, asked.timeoutMs, header, input as never)
    return {
      responseHeaders: listed(response.header),
      payloads: [(response.message as Message & { payload?: Message }).payload ?? {}],
      responseTrailers: listed(response.trailer),
    }
  } catch (error) {
    const { code, rawMessage, details, metadata } = ConnectError.from(error, Code.Unknown)
    const received = details.flatMap((one) =>
      "desc" in one ? [] : [{ typeUrl: `type.googleapis.com/${one.type}`, value: one.value }],
    )
    return { error: { code, message: rawMessage, details: received }, responseTrailers: listed(metadata) }
  }
}

function listed(headers: Headers): Header[] {
  return [...headers].map(([name, value]) => ({ name, value: [value] }))
}

const running = new Set<Promise<void>>()
process.once("SIGTERM", () => process.exit())
for await (const asked of readMessages<ClientCompatRequest>(process.stdin, schemaOf("ClientCompatRequest"))) {
  const { testName } = asked
  const call = answer(asked)
    .then((response) => ({ case: "response", value: response }))
    .catch((error: unknown) => ({ case: "error", value: { message: String(error) } }))
    .then((result) => writeMessage(process.stdout, schemaOf("ClientCompatResponse"), { testName, result }))
  running.add(call)
  call.finally(() => running.delete(call))
  // The suite writes all its calls at once.
  if (running.size >= 16) await Promise.race(running)
}
await Promise.all(running)
for (const { close } of transports.values()) close?.()
