import { setDefaultHighWaterMark } from "node:stream"

/**
 * Has this process keep fewer bytes that are not needed any more, for as long as it lives. They cost more than memory:
 * when they grow by tens of megabytes, V8 collects all of its heap, and calls wait meanwhile.
 */
export function boundBuffers(): void {
  // Small buffers are slices of a large one (64 KiB by default), which stays as long as any of them does.
  Buffer.poolSize = 8 * 1024
  // grpc-js reads sixteen messages of a stream ahead, of whatever size, and takes no option for it. A pipeline that has to
  // wait leaves them to its client.
  setDefaultHighWaterMark(true, 1)
}
