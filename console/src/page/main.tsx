import { render } from "preact"
import { useEffect } from "preact/hooks"
import { LocationProvider, useLocation } from "preact-iso"
import { apiKeys } from "./client.ts"
import { useLoaded } from "./loading.ts"
import { Failed, Nothing, Notices } from "./parts/feedback.tsx"
import { Header } from "./parts/header.tsx"
import { Access } from "./permissions.ts"
import { Live } from "./views/live.tsx"
import { Overview } from "./views/overview.tsx"
import { User } from "./views/user.tsx"
import { Users } from "./views/users.tsx"

function App() {
  const key = useLoaded((signal) => apiKeys.getCurrentApiKey({}, { signal }), [])
  if (key.answer === undefined) {
    return (
      <main>
        {key.error === undefined ? <p role="status">Loading…</p> : <Failed error={key.error} retry={key.reload} />}
      </main>
    )
  }
  return (
    <Access.Provider value={key.answer}>
      <LocationProvider>
        <Header />
        <main>
          <View />
        </main>
        <Notices />
      </LocationProvider>
    </Access.Provider>
  )
}

/** What the address names. */
function View() {
  const { path } = useLocation()
  // Screen readers and the keyboard begin at the new view.
  useEffect(() => {
    const find = (selector: string) => document.querySelector<HTMLElement>(selector)
    ;(find("main [data-focus]") ?? find("main h1"))?.focus()
  }, [path])
  const user = /^\/users\/([^/]+)$/.exec(path)?.[1]
  if (user !== undefined) return <User key={user} id={decodeURIComponent(user)} />
  if (path === "/") return <Overview />
  if (path === "/users") return <Users />
  if (path === "/live") return <Live />
  return <Nothing>There is no such page.</Nothing>
}

render(<App />, document.getElementById("app") as HTMLElement)
