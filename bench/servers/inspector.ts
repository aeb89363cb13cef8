import { setTimeout as delay } from "node:timers/promises"

/** Inspects a Node process that was started with `inspectOn`. The process needs no further preparation. */
export interface Inspector {
  /** Returns the value of an expression, serialized as JSON. */
  evaluate<T>(expression: string): Promise<T>
  /** Returns the memory of the process after garbage collection, in bytes. */
  memory(): Promise<Memory>
  close(): void
}

export interface Memory {
  heapUsed: number
  external: number
  rss: number
  /** The number of open timers, sockets and other resources of each kind. */
  handles: Record<string, number>
}

/**
 * Returns the arguments with which Node can be inspected at a port. Node does not write the address to standard error
 * then.
 */
export const inspectOn = (port: number) => [`--inspect=127.0.0.1:${port}`, "--inspect-publish-uid=http"]

/** Connects to a process. @param port - The port that `inspectOn` was given. */
export async function openInspector(port: number): Promise<Inspector> {
  const url = await address(port)
  const socket = new WebSocket(url)
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let lastId = 0
  socket.addEventListener("message", ({ data }) => {
    const { id, result, error } = JSON.parse(String(data))
    if (error) waiting.get(id)?.reject(new Error(error.message))
    else waiting.get(id)?.resolve(result)
    waiting.delete(id)
  })
  socket.addEventListener("close", () => {
    for (const { reject } of waiting.values()) reject(new Error("the inspected process ended"))
    waiting.clear()
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve)
    socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)))
  })

  function ask<T>(method: string, params: object = {}): Promise<T> {
    const id = ++lastId
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, { resolve: (result) => resolve(result as T), reject })
      socket.send(JSON.stringify({ id, method, params }))
    })
  }

  async function evaluate<T>(expression: string): Promise<T> {
    const { result } = await ask<{ result: { value: T } }>("Runtime.evaluate", { expression, returnByValue: true })
    return result.value
  }

  return {
    evaluate,
    async memory() {
      // A second collection frees the objects that the first one finalized.
      for (let time = 0; time < 2; time++) await ask("HeapProfiler.collectGarbage")
      return evaluate<Memory>(`(() => {
        const { heapUsed, external, rss } = process.memoryUsage()
        const handles = {}
        for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1
        return { heapUsed, external, rss, handles }
      })()`)
    },
    close: () => socket.close(),
  }
}

async function address(port: number): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      const targets = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()
      return (targets as { webSocketDebuggerUrl: string }[])[0]?.webSocketDebuggerUrl ?? ""
    } catch (error) {
      if (tries === 50) throw error
      await delay(100)
    }
  }
}
