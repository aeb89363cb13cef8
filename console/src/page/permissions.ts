import type { GetCurrentApiKeyResponse } from "@authwire/proto"
import { createContext } from "preact"
import { useContext } from "preact/hooks"

type KeyAccess = Pick<GetCurrentApiKeyResponse, "id" | "tenant" | "scopes" | "presets">

/** What the console's API key allows. */
export const Access = createContext<KeyAccess>({ id: "", tenant: "", scopes: [], presets: [] })

const storageName = "authwire-console-access"

/** Keeps for this tab what the key allows, so that a page that is loaded in an outage has its navigation. */
export function remember({ id, tenant, scopes, presets }: KeyAccess): void {
  sessionStorage.setItem(storageName, JSON.stringify({ id, tenant, scopes, presets }))
}

/** Returns what was kept; undefined if this tab has not seen the service yet. It decides only what is shown. */
export function remembered(): KeyAccess | undefined {
  const kept = sessionStorage.getItem(storageName)
  return kept === null ? undefined : JSON.parse(kept)
}

/** Returns whether the key has a scope. A control that needs another one is not there. */
export function useCan(): (scope: string) => boolean {
  const { scopes } = useContext(Access)
  return (scope) => scopes.includes(scope)
}
