import { afterEach, beforeEach, jest } from "@jest/globals"
import { pino } from "pino"
import { hashSecret } from "../src/auth/api-key.js"
import { type Keyring, openKeyring } from "../src/auth/keyring.js"
import { StoreError } from "../src/errors/store-error.js"
import type { ApiKeyStore, Waiter } from "../src/store/store.js"
import type { ApiKey } from "../src/store/types.js"

export const listIntervalMs = 2_000
export const certificateName = "DNS:app.internal"
export const unavailable = { reason: "DATABASE_UNAVAILABLE" }

/** A keyring whose clock, timers and store are in the hands of the test. */
class KeyringCase {
  time = 500
  /** The keys of the store. */
  rows = new Map<string, ApiKey>()
  /** The ids of the keys that were looked up, and `undefined` for a read of the list. */
  reads: (string | undefined)[] = []
  /** What reads do: they answer, fail, or are never answered. */
  database: "answers" | "fails" | "hangs" = "answers"
  /** How long a read lasts, in milliseconds. */
  readMs = 0
  /** The size of a page of the list, and the changes that the next read finds. */
  pageSize = 1_000
  changes: { id: string; key: ApiKey | undefined }[] = []
  signals: (AbortSignal | undefined)[] = []
  warnings: Record<string, unknown>[] = []
  keyring!: Keyring

  add(id: string, more: Partial<ApiKey> = {}): void {
    const secretHash = hashSecret("s")
    this.rows.set(id, { id, name: "n", tenant: "default", scopes: ["all"], secretHash, created: new Date(0), ...more })
  }

  async open(): Promise<void> {
    const read = async <T>(id: string | undefined, found: () => T, { signal }: Waiter): Promise<T> => {
      this.reads.push(id)
      this.signals.push(signal)
      this.time += this.readMs
      if (this.database === "fails") throw new StoreError("DATABASE_UNAVAILABLE", "it is down")
      return this.database === "hangs" ? new Promise<never>(() => {}) : found()
    }
    const apiKeys: Pick<ApiKeyStore, "get" | "listValid" | "listChanges"> = {
      get: (waiter, id) => read(id, () => this.rows.get(id) ?? null, waiter),
      listValid: async (_waiter, _at, after = "") => {
        const valid = [...this.rows.values()].filter(({ id, revoked }) => revoked === undefined && id > after)
        const isLast = valid.length <= this.pageSize
        return { keys: valid.slice(0, this.pageSize), next: isLast ? undefined : valid[this.pageSize - 1]?.id }
      },
      listChanges: (waiter) =>
        read(undefined, () => ({ changes: this.changes.splice(0), until: new Date(this.time) }), waiter),
    }
    this.keyring = await openKeyring({
      apiKeys: apiKeys as ApiKeyStore,
      log: pino({ level: "warn" }, { write: (line) => void this.warnings.push(JSON.parse(line)) }),
      clock: () => this.time,
      now: Date.now,
      listIntervalMs,
    })
  }

  /** Lets time pass until the list has been read again. */
  async nextList(): Promise<void> {
    this.time += listIntervalMs
    await jest.advanceTimersByTimeAsync(listIntervalMs)
  }
}

/** Prepares a keyring for each test, which opens it. */
export function useKeyring(): KeyringCase {
  const at = new KeyringCase()
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] })
    Object.assign(at, new KeyringCase())
  })
  afterEach(() => {
    at.keyring.stop()
    jest.useRealTimers()
  })
  return at
}
