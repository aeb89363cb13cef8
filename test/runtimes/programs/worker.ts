import * as client from "@authwire/client"
import { runSuite } from "./suite.ts"

// For workerd: responds to a request, which has the options, with the transcript.

export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(await runSuite(client, await request.json()))
  },
}
