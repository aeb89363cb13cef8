import type { Adapter, AdapterUser } from "@auth/core/adapters"
import { AuthwireAdapter, type AuthwireClient, AuthwireError, createAuthwireClient, RemoteJwt } from "@authwire/client"
import { AuthwireAdapter as EdgeAdapter } from "@authwire/client/edge"
import { ErrorReason, UserService } from "@authwire/proto"
import { decode, encode, getToken } from "@authwire/token"

const url = "http://127.0.0.1:50051"
const adapter: Adapter = AuthwireAdapter({ url, apiKey: "k" })
const atTheEdge: Adapter = EdgeAdapter({ url })
const client: AuthwireClient = createAuthwireClient({ url })
const { encode: remotely } = RemoteJwt({ url })
export const user: Promise<AdapterUser | null> | undefined = adapter.getUser?.("1") as Promise<AdapterUser | null>
export const found: Promise<string | undefined> = client.users.getUser({ id: "1" }).then((answer) => answer.user?.id)
export const failure = (error: unknown): string => (error instanceof AuthwireError ? error.code : "")
export const name: string = UserService.typeName
export const reason: ErrorReason = ErrorReason.USER_NOT_FOUND
export { atTheEdge, decode, encode, getToken, remotely }

// @ts-expect-error Fails if the types are missing or are `any`.
createAuthwireClient({ url, timeoutMs: "5000" })
