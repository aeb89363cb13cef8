// A client process with a session cache: reads one session in a loop, and writes what it got, a line each, with the time at
// which the read began.
import { createAuthwireClient } from "@authwire/client"

const [url = "", sessionToken = "", maxStaleMs = ""] = process.argv.slice(2)
const client = createAuthwireClient({ url, sessionCache: { maxStaleMs: Number(maxStaleMs) }, timeoutMs: 2_000 })
for (;;) {
  const begun = Date.now()
  const asked = client.adapter.getSessionAndUser(sessionToken)
  let isThere = false
  const settled = asked.then(
    (answer) => {
      isThere = true
      return answer === null ? "nobody" : "somebody"
    },
    () => "failed",
  )
  for (let turn = 0; turn < 5; turn++) await undefined
  // Decided before the answer is awaited: after that, one of the service is there as well.
  const from = isThere ? "memory" : "service"
  process.stdout.write(`${begun} ${await settled} ${from}\n`)
  await new Promise((resolve) => setTimeout(resolve, 2))
}
