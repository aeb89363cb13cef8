import type { Worker } from "node:cluster"

interface Connection {
  close(): void
}

/**
 * The maximum number of connections in transit to one worker. Node's primary sends the next connection of a listener
 * only after the worker has acknowledged the previous one. So there is at most one per listener.
 */
const maxUntaken = 16

/**
 * Closes the connections that were sent to a worker which ends before it accepts them.
 *
 * Node's primary forgets such connections. They would never be answered or closed, and their clients would wait.
 * Therefore each connection is kept, by the number of the message that carried it, until the worker acknowledges it. It
 * is closed if the worker ends before.
 *
 * Node has no public interface for this, so the function reads the messages of Node's cluster module (`seq`, `ack`). If
 * a version of Node numbers or acknowledges them differently, no connection is kept, and forgotten connections stay
 * open. A test that kills a worker (test/workers/workers-ends.test.ts) fails in that case.
 */
export function closeUnacknowledged(worker: Worker): void {
  const { process } = worker
  // Undefined if the process could not be started.
  const send = process.send as ((...args: unknown[]) => boolean) | undefined
  if (typeof send !== "function") return
  const untaken = new Map<number, Connection>()

  const giveUp = (): void => {
    untaken.clear()
    process.send = send
  }
  process.send = (...args: unknown[]) => {
    const [message, connection] = args
    const number = numberOf(message, "seq")
    if (number !== undefined && isConnection(connection)) untaken.set(number, connection)
    if (untaken.size > maxUntaken) giveUp()
    return send.apply(process, args)
  }
  process.on("internalMessage", (message: unknown) => {
    const number = numberOf(message, "ack")
    if (number !== undefined) untaken.delete(number)
  })
  worker.once("exit", () => {
    for (const connection of untaken.values()) connection.close()
  })
}

function numberOf(message: unknown, name: "seq" | "ack"): number | undefined {
  const value = message instanceof Object && name in message ? (message as Record<string, unknown>)[name] : undefined
  return typeof value === "number" ? value : undefined
}

function isConnection(value: unknown): value is Connection {
  return value instanceof Object && "close" in value && typeof value.close === "function"
}
