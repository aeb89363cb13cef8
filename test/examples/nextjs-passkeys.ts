import { addVirtualAuthenticator } from "@authwire/test-support/applications/chromium.js"
import { rows } from "@authwire/test-support/applications/sign-in.js"
import { expect, test } from "@jest/globals"
import type { NextVisitor } from "./nextjs-visitor.js"

/** Tests signing in with a passkey, and the list of passkeys on the page of the account. */
export function describePasskeys(visit: NextVisitor, expectSessionOf: (userId: unknown) => Promise<void>): void {
  const { shownIn, at, ask, cookie, usersWith, signInByMail, signOut } = visit

  test("adding a passkey, and signing in with it", async () => {
    const authenticator = await addVirtualAuthenticator(visit.page)
    await signInByMail("passkey@example.com")
    await visit.page.click("#passkey-register")
    await visit.page.waitForSelector("#passkeys li")
    const [passkey, ...others] = await authenticator.passkeys()
    expect([passkey?.rpId, others]).toEqual(["localhost", []])
    const [user] = await usersWith("passkey@example.com")
    const stored = () => rows(visit.stack.database, "authenticators", "user_id = ?", [user?.id])
    expect(await stored()).toMatchObject([{ credential_id: passkey?.credentialId }])
    const before = Number((await stored())[0]?.counter)
    const accounts = await rows(visit.stack.database, "accounts", "user_id = ?", [user?.id])
    expect(accounts).toMatchObject([{ provider: "passkey", type: "webauthn" }])

    await signOut()
    expect(await cookie()).toBeUndefined()
    await visit.page.click("#passkey-authenticate")
    await visit.page.waitForURL(at("/account"))
    expect(await visit.page.textContent("#email")).toBe("passkey@example.com")
    expect(Number((await stored())[0]?.counter)).toBeGreaterThan(before)
    expect(await usersWith("passkey@example.com")).toHaveLength(1)
    await expectSessionOf(user?.id)
  })

  test("a passkey is named and removed, and only by its user", async () => {
    const authenticator = await addVirtualAuthenticator(visit.page)
    await signInByMail("named@example.com")
    await visit.page.click("#passkey-register")
    const shown = shownIn(visit.page)
    await shown.waitFor()
    const [user] = await usersWith("named@example.com")
    const stored = () => rows(visit.stack.database, "authenticators", "user_id = ?", [user?.id])
    expect(await shown.textContent()).toContain("Not used yet.")
    await shown.locator("input[name=name]").fill("Ada’s laptop")
    await shown.getByText("Name it").click()
    await shown.locator("strong", { hasText: "Ada’s laptop" }).waitFor()
    expect(await stored()).toMatchObject([{ display_name: "Ada’s laptop", last_used: null }])
    await signOut()
    await visit.page.click("#passkey-authenticate")
    await visit.page.waitForURL(at("/account"))
    expect(await shown.textContent()).toMatch(/Ada’s laptop.*Created .* UTC\. Last used .* UTC\./)

    // The form of another user, with the same id.
    const [{ credential_id: id } = {}] = await stored()
    const own = visit.page
    visit.context = await visit.browser.newContext()
    visit.page = await visit.context.newPage()
    await addVirtualAuthenticator(visit.page)
    await signInByMail("stranger@example.com")
    await visit.page.click("#passkey-register")
    await shownIn(visit.page).waitFor()
    for (const button of ["Name it", "Remove"]) {
      const form = shownIn(visit.page).locator("form", { hasText: button })
      await form.locator("input[name=id]").evaluate((input, value) => {
        ;(input as HTMLInputElement).value = value
      }, String(id))
      const answered = visit.page.waitForResponse((response) => response.request().method() === "POST")
      await form.getByText(button).click()
      await answered
    }
    expect(await stored()).toMatchObject([{ display_name: "Ada’s laptop" }])
    await visit.context.close()
    visit.page = own
    visit.context = visit.page.context()

    await shown.getByText("Remove").click()
    await shown.waitFor({ state: "detached" })
    expect(await stored()).toEqual([])
    expect(await rows(visit.stack.database, "accounts", "user_id = ?", [user?.id])).toEqual([])
    await signOut()
    expect(await authenticator.passkeys()).toHaveLength(1)
    await visit.page.click("#passkey-authenticate")
    await visit.page.waitForSelector("#problem, #passkey-failed")
    expect(await cookie()).toBeUndefined()
  })

  test("a passkey alone cannot sign up, and responses do not reveal who has an account", async () => {
    await signInByMail("known@example.com")
    const options = async (email: string, action: string) => {
      const response = await ask(`/api/auth/webauthn-options/passkey?email=${email}&action=${action}`)
      const { options: answer } = (await response.json()) as { options?: { allowCredentials?: unknown } }
      return [response.status, answer?.allowCredentials]
    }
    expect(await options("known@example.com", "authenticate")).toEqual(await options("new@example.com", "authenticate"))
    expect(await options("new@example.com", "register")).toEqual([400, undefined])
    expect(await usersWith("new@example.com")).toEqual([])
  })
}
