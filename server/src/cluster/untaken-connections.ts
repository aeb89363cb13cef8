import type { Worker } from "node:cluster"

interface Connection {
  close(): void
}

/**
 * How many connections may be on their way to one worker. Node's primary sends the next connection of a listener when the
 * worker has acknowledged the one before, so there is one for each listener at the most.
 */
const maxUntaken = 16

/**
 * Closes the connections that were sent to a worker which ends before it takes them.
 *
 * Node's primary forgets them: nobody would ever answer or close them, and their clients would wait. So each is kept until
 * the worker's acknowledgement, by the number of the message that carried it, and closed if there will be none.
 *
 * Node has no public way to hear of either. This reads the messages that its cluster sends (`seq`, `ack`). With a version
 * that numbers or acknowledges them differently it keeps nothing, and what Node forgets stays forgotten; a test with a
 * worker that is killed (test/workers/workers-ends.test.ts) fails then.
 */
export function closeUntaken(worker: Worker): void {
  const { process } = worker
  // Undefined where the process could not be started.
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
