// A client process with a session cache. It reads one session in a loop, and prints each result on a line with the time
// at which the read began.
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
  // Decided before the response is awaited, because afterwards a response of the service would have arrived as well.
  const from = isThere ? "memory" : "service"
  process.stdout.write(`${begun} ${await settled} ${from}\n`)
  await new Promise((resolve) => setTimeout(resolve, 2))
}
