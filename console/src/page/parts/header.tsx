import { useContext, useEffect, useState } from "preact/hooks"
import { useLocation } from "preact-iso"
import { Access, useCan } from "../permissions.ts"

interface Status {
  service: string
  isReady: boolean
  detail: string
}

/** Reads the state of the service every five seconds, as long as the page is seen. */
export function useStatus(): Status | undefined {
  const [status, setStatus] = useState<Status>()
  useEffect(() => {
    const read = () => {
      if (document.hidden) return
      fetch("/status")
        .then((answer) => answer.json())
        .catch(() => ({ service: "", isReady: false, detail: "The console does not answer. Start it again." }))
        .then(setStatus)
    }
    read()
    const timer = setInterval(read, 5000)
    return () => clearInterval(timer)
  }, [])
  return status
}

export function Header() {
  const { path, route } = useLocation()
  const { tenant } = useContext(Access)
  const can = useCan()
  const status = useStatus()
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = (event.target as HTMLElement).closest("input, textarea, select, dialog")
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      if (location.pathname === "/users") document.querySelector<HTMLElement>("[data-focus]")?.focus()
      else route("/users")
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [route])
  const link = (to: string, text: string) => (
    <a href={to} aria-current={(to === "/" ? path === to : path.startsWith(to)) ? "page" : undefined}>
      {text}
    </a>
  )
  return (
    <header>
      <a class="name" href="/">
        <img src="/logo.svg" alt="" width="24" height="24" /> Authwire
      </a>
      <nav aria-label="Pages">
        {link("/", "Overview")}
        {can("users:read") && link("/users", "Users")}
        {can("events:watch") && link("/live", "Live")}
        {can("audit:read") && link("/audit", "Audit")}
        {can("session-policy:read") && link("/policy", "Policy")}
        {can("webhooks:read") && link("/webhooks", "Webhooks")}
        {can("keys:read") && link("/keys", "Keys")}
        {can("tenants:read") && link("/tenants", "Tenants")}
      </nav>
      <span class="where">
        tenant <b>{tenant}</b>
        {status && (
          <span class={status.isReady ? "state ready" : "state away"} title={`${status.service}: ${status.detail}`}>
            {status.isReady ? "ready" : "not ready"}
          </span>
        )}
      </span>
    </header>
  )
}
