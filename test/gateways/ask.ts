import {
  HeaderValueOption_HeaderAppendAction as Append,
  type AttributeContext,
  Authorization,
  type CheckRequestSchema,
  type CheckResponse,
} from "@authwire/proto/envoy"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { visit } from "./visit.js"

/** A request to a gateway, and the settings with which the gateway is configured. */
export interface Question {
  settings?: Record<string, string>
  headers?: Record<string, string>
  method?: string
  scheme?: string
  host?: string
  path?: string
}

/** What the gateway does with the request. */
export interface Answer {
  /** `200`: the request is passed on. */
  status: number
  /** The headers that the application receives. */
  told: Record<string, string>
  location?: string | undefined
}

export interface Way {
  readonly name: string
  ask(
    server: Pick<ServerProcess, "grpcUrl" | "httpUrl">,
    apiKey: string | undefined,
    question: Question,
  ): Promise<Answer>
}

/** The two protocols of gateways. A failure is an error with its reason, not the status of a decision. */
export const ways: readonly Way[] = [
  {
    name: "Authorization/Check",
    async ask(server, apiKey, question) {
      const answer = await check(server, apiKey, toCheckRequest(question))
      const { httpResponse, status } = answer
      if (httpResponse.case === "okResponse") {
        expectOverwritten(answer)
        if (status?.code !== 0) throw new Error(`passed on with the status ${status?.code}`)
        return { status: 200, told: told(answer) }
      }
      if (httpResponse.case !== "deniedResponse" || !status?.code) throw new Error("not denied with a status")
      const { location } = told(answer)
      return { status: httpResponse.value.status?.code ?? 0, told: {}, location }
    },
  },
  {
    name: "GET /v1/authorize",
    async ask({ httpUrl }, apiKey, { settings = {}, headers = {}, method = "GET", scheme, host, path }) {
      const all = {
        ...headers,
        "x-forwarded-method": method,
        ...(scheme !== undefined && { "x-forwarded-proto": scheme }),
        ...(host !== undefined && { "x-forwarded-host": host }),
        ...(path !== undefined && { "x-forwarded-uri": path }),
        ...(apiKey !== undefined && { "x-api-key": apiKey }),
      }
      const query = new URLSearchParams([["proxy", "traefik"], ...Object.entries(settings)])
      const asked = { path: `/v1/authorize?${query}`, headers: Object.entries(all) }
      const { status, body, headers: answered } = await visit(httpUrl, asked)
      if (status >= 500) throw new Error((JSON.parse(body) as { message: string }).message)
      const told = Object.entries(answered).filter(([name]) => name.startsWith("x-auth"))
      return { status, told: Object.fromEntries(told) as Answer["told"], location: answered.location }
    },
  },
]

/** Calls Check as a gateway does. */
export async function check(
  { grpcUrl }: Pick<ServerProcess, "grpcUrl">,
  apiKey: string | undefined,
  request: MessageInitShape<typeof CheckRequestSchema>,
): Promise<CheckResponse> {
  const client = createClient(Authorization, createGrpcTransport({ baseUrl: grpcUrl }))
  try {
    return await client.check(request, { headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` } })
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error
    const [info] = error.findDetails(ErrorInfoSchema)
    throw new Error(`${Code[error.code]} ${info?.reason}: ${error.rawMessage}`, { cause: error })
  }
}

export function toCheckRequest(question: Question): MessageInitShape<typeof CheckRequestSchema> {
  const { settings = {}, headers = {}, method = "GET", scheme = "", host = "", path = "" } = question
  const attributes: MessageInitShape<typeof CheckRequestSchema>["attributes"] = {
    contextExtensions: settings,
    request: { http: { method, scheme, host, path, headers } },
  }
  return { attributes: attributes as AttributeContext }
}

function told({ httpResponse: { value } }: CheckResponse): Record<string, string> {
  return Object.fromEntries((value?.headers ?? []).map(({ header }) => [header?.key, header?.value]))
}

/** Envoy first sets headers, then removes headers. */
function expectOverwritten({ httpResponse }: CheckResponse): void {
  if (httpResponse.case !== "okResponse") return
  const { headers, headersToRemove } = httpResponse.value
  for (const { header, appendAction } of headers) {
    if (appendAction !== Append.OVERWRITE_IF_EXISTS_OR_ADD) throw new Error(`${header?.key} does not overwrite`)
    if (headersToRemove.includes(header?.key ?? "")) throw new Error(`${header?.key} is set and removed`)
  }
}
