import { createHash } from "node:crypto"
import type { GrpcTargetOptions } from "./grpc-target.js"

/** What clients share: a connection, or the cache of its sessions. */
interface Closable {
  /** Whether nothing is in progress, so that it may be closed. */
  readonly isIdle: boolean
  close(): void
}

export interface SharedOptions<Value> {
  /** What is shared. Values of different kinds have different types. */
  kind: "connection" | "session cache"
  /** Clients share a value if these and the `settings` are equal. */
  connection: GrpcTargetOptions & { header: Headers }
  settings: readonly unknown[]
  open: () => Value
}

/** One client's share in a value that all clients of this process with equal options use. */
export interface Shared<Value> {
  /** Returns the value, and opens it if it is not open. Must be called at each use, because an idle value closes. */
  use(): Value
  /** The value, if one of the clients has it open. */
  readonly opened: Value | undefined
  /** Releases the value for this client. It closes with the last client that uses it. */
  leave(): void
  readonly hasLeft: boolean
}

interface Entry<Value> {
  readonly value: Value
  /** The number of clients that use it and have not left. */
  clients: number
  /** Whether it was used since the last check for idleness. */
  isUsed: boolean
  isOpen: boolean
  close(): void
}

/**
 * The key of the registry, on `globalThis`. A bundler may put several copies of this module into a process, and a development server
 * loads it again at every change, so that the registry must be outside of the module. The number is the version of the interface Entry
 * and of the values: a version of this package that changes them also changes the number, and so does not use those of other versions.
 */
const registryKey: unique symbol = Symbol.for("authwire.shared.1")

/** A value closes at the second check in a row without a use, because an adapter is never closed. The next use then opens another value. */
const checkMs = 30_000

/** Shares a value among all clients of this process with equal options. The first use opens it. */
export function shared<Value extends Closable>(options: SharedOptions<Value>): Shared<Value> {
  const key = keyOf(options)
  let entry: Entry<Value> | undefined
  let hasLeft = false
  const opened = () => registry<Value>().get(key)

  function join(): Entry<Value> {
    const found = opened() ?? openEntry(key, options)
    found.clients++
    return found
  }

  return {
    use() {
      if (!entry?.isOpen) entry = join()
      entry.isUsed = true
      return entry.value
    },
    get opened() {
      return opened()?.value
    },
    leave() {
      if (hasLeft) return
      hasLeft = true
      if (entry?.isOpen && --entry.clients === 0) entry.close()
    },
    get hasLeft() {
      return hasLeft
    },
  }
}

function openEntry<Value extends Closable>(key: string, { open }: SharedOptions<Value>): Entry<Value> {
  const value = open()
  const check = setInterval(() => {
    if (!entry.isUsed && value.isIdle) entry.close()
    entry.isUsed = false
  }, checkMs).unref()
  const entry: Entry<Value> = {
    value,
    clients: 0,
    isUsed: true,
    isOpen: true,
    close() {
      entry.isOpen = false
      registry().delete(key)
      clearInterval(check)
      value.close()
    },
  }
  registry<Value>().set(key, entry)
  return entry
}

function registry<Value>(): Map<string, Entry<Value>> {
  const scope: typeof globalThis & { [registryKey]?: Map<string, unknown> } = globalThis
  scope[registryKey] ??= new Map()
  return scope[registryKey] as Map<string, Entry<Value>>
}

/** Returns a digest of the options, because they contain secrets that the registry must not reveal. */
function keyOf({ kind, connection: { url, tls, header }, settings }: SharedOptions<unknown>): string {
  const security = [tls === undefined, tls?.ca, tls?.cert, tls?.key, tls?.serverName]
  const parts = [kind, url, ...settings, ...security, ...[...header].flat()]
  // The types are included. Otherwise a wrong option could match an open value without that option.
  const text = JSON.stringify(parts.map((part) => [typeof part, String(part)]))
  return createHash("sha256").update(text).digest("base64url")
}
