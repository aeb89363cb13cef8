import process from "node:process"
import { runSuite } from "./suite.ts"

// For runtimes that run programs: `process.ts grpc|fetch OPTIONS`. Prints the transcript.

const [, , carrier, options = ""] = process.argv
const module = carrier === "grpc" ? await import("@authwire/client") : await import("@authwire/client/edge")
const transcript = await runSuite(module, JSON.parse(options))
process.stdout.write(`${JSON.stringify(transcript)}\n`)
