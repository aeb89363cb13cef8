// The messages of the Connect project's conformance suite, as far as the programs under test use them. Their descriptors are built from
// the suite's own schema (see suite.ts), so that nothing of it is copied or generated here.

import { readFileSync } from "node:fs"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf"
import { type Any, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"

/** The schema of the suite, which suite.ts writes. */
export const descriptorsFile = fileURLToPath(new URL("../../build/conformance/descriptors.binpb", import.meta.url))

export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptorsFile)))

const packageName = "connectrpc.conformance.v1"

export const conformanceService = registry.getService(`${packageName}.ConformanceService`) as DescService

/** Returns the descriptor of a message of the suite, by its short name. */
export function schemaOf(name: string): DescMessage {
  const found = registry.getMessage(`${packageName}.${name}`)
  if (found === undefined) throw new Error(`the suite has no message ${name}`)
  return found
}

export interface Header {
  name: string
  value: string[]
}

export interface SuiteError {
  code: number
  message?: string
  details: Any[]
}

export interface RequestInfo {
  requestHeaders: Header[]
  timeoutMs?: bigint
  requests: Any[]
}

export interface UnaryResponseDefinition {
  responseHeaders: Header[]
  response: { case: "responseData"; value: Uint8Array } | { case: "error"; value: SuiteError } | { case: undefined }
  responseTrailers: Header[]
  responseDelayMs: number
}

export interface StreamResponseDefinition {
  responseHeaders: Header[]
  responseData: Uint8Array[]
  responseDelayMs: number
  error?: SuiteError
  responseTrailers: Header[]
}

/** A request of every method but BidiStream and ServerStream. */
export type UnaryRequest = Message & { responseDefinition?: UnaryResponseDefinition }
export type StreamRequest = Message & { responseDefinition?: StreamResponseDefinition; fullDuplex?: boolean }

export interface TlsCredentials {
  cert: Uint8Array
  key: Uint8Array
}

export interface ServerCompatRequest {
  useTls: boolean
  clientTlsCert: Uint8Array
  messageReceiveLimit: number
  serverCreds?: TlsCredentials
}

export interface ClientCompatRequest {
  testName: string
  host: string
  port: number
  serverTlsCert: Uint8Array
  clientTlsCreds?: TlsCredentials
  method?: string
  requestHeaders: Header[]
  requestMessages: Any[]
  timeoutMs?: number
  cancel?: { cancelTiming: { case: string | undefined; value?: unknown } }
}

/** Reads the messages that the suite sends to a program, each after its length in four bytes. */
export async function* readMessages<T>(input: Readable, schema: DescMessage): AsyncIterable<T> {
  let held = Buffer.alloc(0)
  for await (const chunk of input) {
    held = Buffer.concat([held, chunk as Buffer])
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE()) {
      const end = 4 + held.readUInt32BE()
      yield fromBinary(schema, held.subarray(4, end)) as T
      held = held.subarray(end)
    }
  }
}

/** Writes a message for the suite. */
export function writeMessage(output: Writable, schema: DescMessage, message: MessageInitShape<DescMessage>): void {
  const bytes = toBinary(schema, create(schema, message))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  output.write(Buffer.concat([length, bytes]))
}
