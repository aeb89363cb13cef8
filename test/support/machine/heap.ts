import type { ServerProcess } from "../processes/server.js"
import { until } from "../until.js"

/** What makes a process of Node tell its heap: for its environment. */
export const heapTold = { NODE_OPTIONS: "--inspect=127.0.0.1:0" }

/** The heap of a server that was started with `heapTold`. */
export interface Heap {
  /** What it holds after all garbage was collected, buffers included, in bytes. */
  usedBytes(): Promise<number>
  /** What its buffers take, with those that nobody needs any more and that are not collected yet, in bytes. */
  bufferBytes(): Promise<number>
  close(): void
}

export async function openHeap(server: ServerProcess): Promise<Heap> {
  const address = () => /^Debugger listening on (ws:\S+)$/m.exec(server.output())?.[1]
  await until(() => address() !== undefined)
  const socket = new WebSocket(address() as string)
  await new Promise((resolve, reject) => {
    socket.onopen = resolve
    socket.onerror = reject
  })
  let lastId = 0
  const call = (method: string) =>
    new Promise<Record<string, number>>((resolve) => {
      const id = ++lastId
      const onMessage = ({ data }: MessageEvent) => {
        const answer = JSON.parse(data)
        if (answer.id !== id) return
        socket.removeEventListener("message", onMessage)
        resolve(answer.result)
      }
      socket.addEventListener("message", onMessage)
      socket.send(JSON.stringify({ id, method }))
    })
  return {
    async usedBytes() {
      // What the first frees may let go of more.
      for (let count = 0; count < 3; count++) await call("HeapProfiler.collectGarbage")
      const { usedSize = 0, backingStorageSize = 0 } = await call("Runtime.getHeapUsage")
      return usedSize + backingStorageSize
    },
    async bufferBytes() {
      const { backingStorageSize = 0 } = await call("Runtime.getHeapUsage")
      return backingStorageSize
    },
    close: () => socket.close(),
  }
}
