import { blocksOf } from "@authwire/test-support/applications/pages.js"
import { describe, expect, test } from "@jest/globals"
import { parseStaticKeys } from "../../server/src/auth/static-keys.js"
import { parseTenantSecrets } from "../../server/src/auth/tenant-secrets.js"
import { parseProviders } from "../../server/src/provider-tokens/providers-file.js"

const code = (page: string, block: number) => blocksOf(page)[block]?.code ?? ""

/** The service reads them as the page shows them; `…` is what the reader fills in. */
describe("the files and values of the pages", () => {
  test("the file of providers of docs/provider-tokens.md", () => {
    const sources = { env: { KEYCLOAK_SECRET: "secret" }, folder: "." }
    const providers = parseProviders(code("docs/provider-tokens.md", 2), sources)
    expect(providers.of("default", "keycloak")).toMatchObject({ clientId: "shop" })
  })

  test("the static keys of docs/security.md", () => {
    const text = code("docs/security.md", 1).replace("…", "0".repeat(64))
    expect(parseStaticKeys(text)).toMatchObject([{ id: "k3x5q2m7a4b6c7d2", name: "shop" }])
  })

  test("the secrets of tenants of docs/security.md", () => {
    const secret = "a secret of at least 32 bytes, the "
    const text = code("docs/security.md", 5).replaceAll(/\b(\w+)…/g, `${secret}$1`)
    expect([...parseTenantSecrets(text, { short: false })]).toEqual([["acme", [`${secret}newest`, `${secret}older`]]])
  })
})
