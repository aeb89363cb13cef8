import { Miniflare } from "miniflare"
import { bundle } from "../bundle.js"

// `workerd.js fetch OPTIONS`: runs the suite in workerd and prints the transcript.

const { code } = await bundle({
  entry: "programs/worker.ts",
  conditions: ["workerd", "worker", "browser"],
  format: "esm",
})
const miniflare = new Miniflare({ modules: true, script: code, compatibilityDate: "2025-06-01" })
try {
  const response = await miniflare.dispatchFetch("http://localhost/", { method: "POST", body: process.argv[3] })
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  console.log(text)
} finally {
  await miniflare.dispose()
}
