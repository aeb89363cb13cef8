import { createAuthwireClient } from "@authwire/client"

// Run with --expose-gc: node given-up-calls.js URL COUNT. For each line on its standard input, makes calls and cancels
// them, and prints by how many bytes per call its memory grew.

const [url, count] = process.argv.slice(2)
const client = createAuthwireClient({ url })
const id = "x".repeat(255)

async function giveUp(calls) {
  for (let done = 0; done < calls; done += 500) {
    const controller = new AbortController()
    const timeoutMs = done % 1000 === 0 ? 5 : 5_000
    const made = Array.from({ length: 500 }, () =>
      // A request of a size that would be noticed if it leaked.
      client.users.getUser({ id }, { signal: controller.signal, timeoutMs }).catch(() => {}),
    )
    await new Promise((resolve) => setTimeout(resolve, done % 1000 === 0 ? 10 : 0))
    controller.abort()
    await Promise.all(made)
  }
}

function memory() {
  for (let turn = 0; turn < 3; turn++) globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

await client.adapter.getUser("nobody")
console.log("ready")
for await (const _ of process.stdin) {
  await giveUp(count / 5)
  const before = memory()
  await giveUp(Number(count))
  console.log((memory() - before) / count)
}
client.close()
