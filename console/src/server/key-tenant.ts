import type { Objection, Service } from "./service.js"

/**
 * Returns a function that says why the key may not be used with the option `tenant`; undefined if it may. It asks the service of which
 * tenant the key is, until the service has answered once, because that never changes. Rejects if the service cannot be asked.
 */
export function keyTenantCheck({ service, apiKey, tenant }: Service): () => Promise<Objection | undefined> {
  let found: string | undefined
  return async () => {
    if (tenant === undefined || tenant === found) return undefined
    const answer = await fetch(new URL("/authwire.v1.ApiKeyService/GetCurrentApiKey", service), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: "{}",
      redirect: "error",
      signal: AbortSignal.timeout(5000),
    })
    const said = (await answer.json()) as { tenant?: string; code?: string; message?: string }
    const { status } = answer
    if (!answer.ok) return { status, code: said.code ?? "unknown", message: said.message ?? `status ${status}` }
    found = said.tenant
    const message = `the key is of the tenant ${found}, and not of ${tenant}`
    return found === tenant ? undefined : { status: 403, code: "permission_denied", message }
  }
}
