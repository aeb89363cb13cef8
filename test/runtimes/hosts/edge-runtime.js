import { EdgeRuntime } from "edge-runtime"
import { bundle } from "../bundle.js"

// `edge-runtime.js fetch OPTIONS`: runs the suite in edge-runtime and prints the transcript.

const { code } = await bundle({
  entry: "programs/fetch-event.ts",
  conditions: ["edge-light", "worker", "browser"],
  format: "iife",
})
const runtime = new EdgeRuntime({ initialCode: code })
const response = await runtime.dispatchFetch("http://localhost/", { method: "POST", body: process.argv[3] })
const text = await response.text()
if (response.status !== 200) throw new Error(text)
console.log(text)
