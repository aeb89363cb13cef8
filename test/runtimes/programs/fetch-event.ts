import * as client from "@authwire/client"
import { runSuite } from "./suite.ts"

// For edge-runtime: responds to a request, which has the options, with the transcript.

interface FetchEvent extends Event {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

const scope = globalThis as unknown as { addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void }

scope.addEventListener("fetch", (event) => {
  event.respondWith(
    (async () => new Response(JSON.stringify(await runSuite(client, (await event.request.json()) as never))))(),
  )
})
