// `sign-in.js`: signs a user in through Authwire as Auth.js does after a first sign-in with a provider, inside its own
// span, and prints the id of the trace. AUTHWIRE_URL and AUTHWIRE_API_KEY configure the client, and
// OTEL_EXPORTER_OTLP_ENDPOINT the collector.
import { AuthwireAdapter } from "@authwire/client"
import { AuthwireAdapter as EdgeAdapter } from "@authwire/client/edge"
import { context, propagation, SpanStatusCode, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { resourceFromAttributes } from "@opentelemetry/resources"
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace"

const provider = new TracerProvider({
  resource: resourceFromAttributes({ "service.name": "application" }),
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
})
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())

const { AUTHWIRE_URL: url, AUTHWIRE_API_KEY: apiKey, AUTHWIRE_HTTP_URL: httpUrl } = process.env
const adapter = httpUrl === undefined ? AuthwireAdapter({ url, apiKey }) : EdgeAdapter({ url: httpUrl, apiKey })
// The connection is opened before, as in a running application.
await adapter.getUser("nobody")

await trace.getTracer("application").startActiveSpan("sign in", async (span) => {
  try {
    await signIn()
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
    console.log(JSON.stringify({ traceId: span.spanContext().traceId }))
  }
})
await provider.shutdown()

async function signIn() {
  const account = { provider: "example", providerAccountId: crypto.randomUUID() }
  if ((await adapter.getUserByAccount(account)) !== null) throw new Error("the account is known")
  const email = `${crypto.randomUUID()}@example.com`
  const user = await adapter.createUser({ id: crypto.randomUUID(), email, emailVerified: null, name: "Ada" })
  await adapter.linkAccount({ ...account, userId: user.id, type: "oidc", access_token: "token-of-the-provider" })
  const sessionToken = crypto.randomUUID()
  await adapter.createSession({ sessionToken, userId: user.id, expires: new Date(Date.now() + 3_600_000) })
  const found = await adapter.getSessionAndUser(sessionToken)
  if (found?.user.id !== user.id) throw new Error("the session is another's")
}
