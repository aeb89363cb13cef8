import * as client from "@authwire/client"
import { runSuite } from "./suite.ts"

// For workerd: a request with the options is answered by the transcript.

export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(await runSuite(client, await request.json()))
  },
}
