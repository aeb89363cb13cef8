// Loaded into the measured command. Collects all garbage every few seconds, and sends the live memory to the parent in
// MiB.

const collect = (globalThis as { gc?: () => void }).gc

function tell() {
  collect?.()
  collect?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  process.send?.((heapUsed + arrayBuffers) / 2 ** 20)
}

setInterval(tell, 3000).unref()
