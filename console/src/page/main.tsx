import { type JSX, render } from "preact"
import { useEffect } from "preact/hooks"
import { LocationProvider, useLocation } from "preact-iso"
import { apiKeys, isTemporary } from "./client.ts"
import { useLoaded } from "./loading.ts"
import { Failed, Nothing, Notices } from "./parts/feedback.tsx"
import { Header } from "./parts/header.tsx"
import { Clock } from "./parts/time.tsx"
import { Access, remember, remembered, useCan } from "./permissions.ts"
import { Audit } from "./views/audit.tsx"
import { Keys } from "./views/keys.tsx"
import { Live } from "./views/live.tsx"
import { Overview } from "./views/overview.tsx"
import { Policy } from "./views/policy.tsx"
import { Tenants } from "./views/tenants.tsx"
import { User } from "./views/user.tsx"
import { Users } from "./views/users.tsx"
import { Webhook } from "./views/webhook.tsx"
import { Webhooks } from "./views/webhooks.tsx"

function App() {
  const key = useLoaded((signal) => apiKeys.getCurrentApiKey({}, { signal }), [])
  useEffect(() => {
    if (key.answer !== undefined) remember(key.answer)
  }, [key.answer])
  const isOutage = key.answer === undefined && key.error !== undefined && isTemporary(key.error)
  const access = key.answer ?? (isOutage ? remembered() : undefined)
  if (access === undefined) {
    return (
      <main>
        {key.error === undefined ? <p role="status">Loading…</p> : <Failed error={key.error} retry={key.reload} />}
      </main>
    )
  }
  return (
    <Access.Provider value={access}>
      <LocationProvider>
        <Header />
        <main>
          <Clock>
            <View />
          </Clock>
        </main>
        <Notices />
      </LocationProvider>
    </Access.Provider>
  )
}

/** The pages, and the scope without which each is not there. */
const pages: Readonly<Record<string, { scope?: string; View: () => JSX.Element }>> = {
  "/": { View: Overview },
  "/users": { scope: "users:read", View: Users },
  "/live": { scope: "events:watch", View: Live },
  "/audit": { scope: "audit:read", View: Audit },
  "/policy": { scope: "session-policy:read", View: Policy },
  "/webhooks": { scope: "webhooks:read", View: Webhooks },
  "/keys": { scope: "keys:read", View: Keys },
  "/tenants": { scope: "tenants:read", View: Tenants },
}

/** Decodes an id in an address. Empty if somebody has typed what is none. */
function idIn(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ""
  }
}

/** What the address names. */
function View() {
  const can = useCan()
  const { path } = useLocation()
  // Screen readers and the keyboard begin at the new view.
  useEffect(() => {
    const find = (selector: string) => document.querySelector<HTMLElement>(selector)
    ;(find("main [data-focus]") ?? find("main h1"))?.focus()
  }, [path])
  const [, of = "", one = ""] = /^\/(users|webhooks)\/([^/]+)$/.exec(path) ?? []
  const id = idIn(one)
  if (of === "users" && id !== "" && can("users:read")) return <User key={id} id={id} />
  if (of === "webhooks" && id !== "" && can("webhooks:read")) return <Webhook key={id} id={id} />
  const page = pages[path]
  if (page === undefined) return <Nothing>There is no such page.</Nothing>
  if (page.scope !== undefined && !can(page.scope))
    return <Nothing>The API key has no access to this page (scope {page.scope}).</Nothing>
  return <page.View />
}

render(<App />, document.getElementById("app") as HTMLElement)
