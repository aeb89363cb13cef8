import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import type { NextVisitor } from "./nextjs-visitor.js"

/** Tests what a signed-in user gets while the service is down or hangs, and afterwards. */
export function describeOutages(visit: NextVisitor): void {
  const { at, ask, asWhoHas, cookie, usersWith, signInByMail } = visit

  /** Checks what the browser and programs get for a signed-in user while the session cannot be read. */
  async function expectUnavailable() {
    const token = await cookie()
    for (const path of ["/account", "/", "/check-mail"]) {
      const answered = await visit.page.goto(at(path))
      const [status, retryAfter] = [answered?.status(), await answered?.headerValue("retry-after")]
      expect([path, status, retryAfter]).toEqual([path, 503, "2"])
      await visit.page.waitForSelector("#unavailable")
    }
    expect(await visit.page.$("#sign-in-demo")).toBeNull()
    for (const path of ["/api/me", "/api/auth/session"]) {
      const response = await asWhoHas(path)
      expect([path, response.status, response.headers.get("retry-after")]).toEqual([path, 503, "2"])
      expect(response.headers.getSetCookie().filter((line) => line.startsWith(sessionCookie))).toEqual([])
    }
    expect(await cookie()).toBe(token)
    // The page reloads itself, and would do so during the next navigation.
    await visit.page.goto("about:blank")
  }

  const back = () => until(async () => (await asWhoHas("/api/me")).status === 200)

  test("while the service is down no user is signed out", async () => {
    await signInByMail("down@example.com")
    const newcomer = (await ask("/api/me")).status
    await visit.stack.server.stop()
    await expectUnavailable()
    expect((await ask("/api/me")).status).toBe(newcomer)
    await visit.stack.restartServer()
    await back()
    await visit.page.goto(at("/account"))
    expect(await visit.page.textContent("#email")).toBe("down@example.com")
  })

  test("a form sent meanwhile is not executed, and leads back to the same page", async () => {
    await signInByMail("typing@example.com")
    await visit.page.fill("input[name=name]", "Never")
    await visit.stack.server.stop()
    try {
      await visit.page.click("#rename")
      await visit.page.waitForSelector("#failed, #unavailable")
    } finally {
      await visit.stack.restartServer()
    }
    await back()
    expect(await usersWith("typing@example.com")).toMatchObject([{ name: null }])
    await visit.page.goto(at("/account"))
    expect(await visit.page.textContent("#email")).toBe("typing@example.com")
  })

  test("while the service hangs a page waits for it only once", async () => {
    await signInByMail("hung@example.com")
    process.kill(visit.stack.server.pid, "SIGSTOP")
    try {
      const started = performance.now()
      await visit.page.goto(at("/"))
      await visit.page.waitForSelector("#unavailable")
      // The session timeout is two seconds. Without it, a call takes five.
      expect(performance.now() - started).toBeLessThan(4_500)
      await expectUnavailable()
    } finally {
      process.kill(visit.stack.server.pid, "SIGCONT")
    }
    await back()
    await visit.page.goto(at("/account"))
    expect(await visit.page.textContent("#email")).toBe("hung@example.com")
  })
}
