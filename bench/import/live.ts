// Loaded into the command that is measured: collects all garbage every few seconds, and tells its parent what is left, in MiB.

const collect = (globalThis as { gc?: () => void }).gc

function tell() {
  collect?.()
  collect?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  process.send?.((heapUsed + arrayBuffers) / 2 ** 20)
}

setInterval(tell, 3000).unref()
