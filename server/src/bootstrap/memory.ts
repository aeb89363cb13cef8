import { setDefaultHighWaterMark } from "node:stream"
import { setFlagsFromString } from "node:v8"

/**
 * Has this process keep fewer bytes that are not needed any more, and collect them more gently, for as long as it lives.
 * While V8 collects its whole heap, calls wait: that is what the slowest of them wait for.
 */
export function tuneMemory(): void {
  // Small buffers are slices of a large one (64 KiB by default), which stays as long as one of them does.
  Buffer.poolSize = 8 * 1024
  // grpc-js reads sixteen messages of a stream ahead, of whatever size, and takes no option for it. A pipeline that has to
  // wait leaves them to its client.
  setDefaultHighWaterMark(true, 1)
  // As many threads as there are would look for garbage beside the one that answers, and beside a database that is near.
  setFlagsFromString("--concurrent-marking-max-worker-num=1")
}
