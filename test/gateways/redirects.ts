import { expect, test } from "@jest/globals"
import type { Question } from "./ask.js"
import type { AskedGateway } from "./service.js"

/** Who is sent to the sign-in page, and where that is. */
export function describeRedirects({ ask }: AskedGateway): void {
  test("a redirect goes to the sign-in page and nowhere else, whatever the request is", async () => {
    const settings = { sign_in: "https://login.example.com/in?from=gateway" }
    const page = { accept: "text/html" }
    const location = async (question: Question) => (await ask({ settings, headers: page, ...question })).location
    expect(await location({ scheme: "https", host: "app.example.com:8443", path: "/a?b=c#d" })).toBe(
      `${settings.sign_in}&callbackUrl=${encodeURIComponent("https://app.example.com:8443/a?b=c#d")}`,
    )
    const paths = ["//evil.example", "/\\evil.example", "/@evil.example", "/%0d%0alocation:x", "/&callbackUrl=x"]
    for (const path of paths) {
      const at = new URL((await location({ scheme: "https", host: "app.example.com", path })) as string)
      expect(at.origin + at.pathname).toBe("https://login.example.com/in")
      const back = at.searchParams.getAll("callbackUrl")
      expect(back).toEqual([`https://app.example.com${path}`])
      expect(new URL(back[0] as string).host).toBe("app.example.com")
    }
    const without: Question[] = [
      { scheme: "javascript", host: "a.example", path: "/" },
      { scheme: "https", host: "user@evil.example", path: "/" },
      { scheme: "https", host: "a.example/b", path: "/" },
      { scheme: "https", host: "", path: "/" },
      { scheme: "https", host: "a.example", path: "*" },
      { scheme: "https", host: "a.example", path: `/${"x".repeat(2_048)}` },
    ]
    for (const question of without) expect([question, await location(question)]).toEqual([question, settings.sign_in])
  })

  test("only browsers that request a page are redirected", async () => {
    const settings = { sign_in: "/in" }
    const cases: [Question, number][] = [
      [{ headers: { accept: "text/html" } }, 302],
      [{ headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } }, 302],
      [{ headers: { accept: "application/json, text/html;q=0.9" } }, 302],
      [{ headers: { accept: "text/html", "sec-fetch-mode": "navigate" } }, 302],
      [{ headers: { accept: "text/html" }, method: "HEAD" }, 302],
      [{ headers: { accept: "text/html", "sec-fetch-mode": "cors" } }, 401],
      [{ headers: { accept: "text/html" }, method: "POST" }, 401],
      [{ headers: { accept: "*/*" } }, 401],
      [{ headers: { accept: "text/htmlx" } }, 401],
      [{}, 401],
    ]
    for (const [question, status] of cases) {
      expect([question, (await ask({ ...question, settings })).status]).toEqual([question, status])
    }
  })
}
