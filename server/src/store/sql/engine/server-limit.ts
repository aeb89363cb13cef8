import { failsBy } from "../query/statement-error.js"
import type { Connection, SqlEngine } from "./engine.js"

/** A server has refused a further connection, because there are too many of all users, of this one, or of the database. */
export interface ServerLimitEvent {
  /** The server's message, which says whose limit it is. */
  cause: string
  code: string | undefined
}

/** The codes of such refusals. */
const refusals: ReadonlySet<string | undefined> = new Set([
  "ER_CON_COUNT_ERROR", // 1040: of all users
  "ER_TOO_MANY_USER_CONNECTIONS", // 1203: of this one, by the server's setting
  "ER_USER_LIMIT_REACHED", // 1226: of this one, by a limit of its own
  "53300", // too_many_connections of PostgreSQL: of all users, the role, or the database
])

/** How long no further connection is tried after a refusal, in milliseconds. */
const pauseMs = 1000

/**
 * Makes an engine go on with the connections that its server gives. Who is refused one while this process has others waits,
 * in the order of arrival, until one of those is free, or the server gives a further one. While there is none at all, callers
 * fail.
 *
 * @param onLimit Called at the first refusal, and again only after the server has given all connections that the pool may have.
 */
export function withinServerLimit(engine: SqlEngine, onLimit: (event: ServerLimitEvent) => void = () => {}): SqlEngine {
  // SQLite has one connection, which is always open.
  if (engine.engine === "sqlite") return engine
  const waiting: PromiseWithResolvers<void>[] = []
  /** The connections that are in use or being opened, and how many of them the server gives, as far as is known. */
  let taken = 0
  let given = Number.POSITIVE_INFINITY
  /** When one more than those may be tried, by `performance.now()`. */
  let nextTry = 0
  /** How often a connection has become free. */
  let freed = 0
  let isTold = false
  let timer: NodeJS.Timeout | undefined

  function take(): boolean {
    if (taken >= given) {
      if (performance.now() < nextTry) return false
      given = taken + 1
      nextTry = performance.now() + pauseMs
    }
    taken++
    return true
  }

  function admitNext(): void {
    while (waiting.length > 0 && take()) waiting.shift()?.resolve()
    if (waiting.length === 0 || timer !== undefined) return
    const next = () => {
      timer = undefined
      admitNext()
    }
    timer = setTimeout(next, nextTry - performance.now())
  }

  function free(): void {
    taken--
    freed++
    admitNext()
  }

  async function connect(): Promise<Connection> {
    for (;;) {
      if (waiting.length > 0 || !take()) {
        const turn = Promise.withResolvers<void>()
        waiting.push(turn)
        admitNext()
        await turn.promise
      }
      const freedBefore = freed
      try {
        return granted(await engine.connect())
      } catch (error) {
        if (!failsBy(error, "unavailable") || !refusals.has(error.code)) {
          free()
          throw error
        }
        taken--
        if (!isTold) onLimit({ cause: error.message, code: error.code })
        isTold = true
        if (taken === 0 && freed === freedBefore) {
          for (const { reject } of waiting.splice(0)) reject(error)
          throw error
        }
        given = Math.max(1, taken)
        nextTry = performance.now() + pauseMs
      }
    }
  }

  function granted(connection: Connection): Connection {
    const { reused, run, release, discard } = connection
    if (!reused) nextTry = 0
    // Two more than the units of work, as the pools have.
    if (taken >= engine.concurrency + 2) {
      given = Number.POSITIVE_INFINITY
      isTold = false
    }
    let isFree = false
    const ending = (end: () => void) => () => {
      end()
      if (!isFree) free()
      isFree = true
    }
    return { reused, run, release: ending(release), discard: ending(discard) }
  }

  return { ...engine, connect }
}
