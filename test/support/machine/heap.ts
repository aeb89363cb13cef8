import type { ServerProcess } from "../processes/server.js"
import { until } from "../until.js"

/** Environment variables with which a Node process exposes its heap. */
export const heapTold = { NODE_OPTIONS: "--inspect=127.0.0.1:0" }

/** The heap of a server that was started with `heapTold`. */
export interface Heap {
  /** The memory in use after a full garbage collection, including buffers, in bytes. */
  usedBytes(): Promise<number>
  /** The memory of its buffers, including unreachable ones that are not collected yet, in bytes. */
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
      // Repeated because the first collection may make further objects collectable.
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
