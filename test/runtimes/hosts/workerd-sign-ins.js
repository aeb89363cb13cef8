import { Miniflare } from "miniflare"
import { bundle } from "../bundle.js"

// `workerd-sign-ins.js OPTIONS SIGN_INS`: makes each sign-in with a request of its own to one isolate of workerd, one after
// the other. Prints the responses.

const { code } = await bundle({
  entry: "programs/sign-in-worker.ts",
  conditions: ["workerd", "worker", "browser"],
  format: "esm",
})
const [options, signIns] = process.argv.slice(2).map((text) => JSON.parse(text))
const miniflare = new Miniflare({ modules: true, script: code, compatibilityDate: "2025-06-01" })
try {
  const responses = []
  for (const signIn of signIns) {
    const body = JSON.stringify({ ...options, ...signIn })
    const response = await miniflare.dispatchFetch("http://localhost/", { method: "POST", body })
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    responses.push(JSON.parse(text))
  }
  console.log(JSON.stringify(responses))
} finally {
  await miniflare.dispose()
}
