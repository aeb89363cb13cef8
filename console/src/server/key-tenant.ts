import type { Objection, Service } from "./service.js"

/** How long an answer counts, in milliseconds. A key of the service's configuration may get another tenant. */
const answerMs = 5_000

/**
 * Returns a function that says why the key may not be used with the option `tenant`; undefined if it may. It asks the service of which
 * tenant the key is, at most every few seconds as long as it is the right one. Rejects if the service cannot be asked.
 */
export function keyTenantCheck({ service, apiKey, tenant }: Service): () => Promise<Objection | undefined> {
  let checked = Number.NEGATIVE_INFINITY
  return async () => {
    if (tenant === undefined || performance.now() < checked + answerMs) return undefined
    const asked = performance.now()
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
    if (said.tenant === tenant) {
      checked = asked
      return undefined
    }
    const message = `the key is of the tenant ${said.tenant}, and not of ${tenant}`
    return { status: 403, code: "permission_denied", message }
  }
}
