import type { GetCurrentApiKeyResponse } from "@authwire/proto"
import { createContext } from "preact"
import { useContext } from "preact/hooks"

/** What the console's API key allows. */
export const Access = createContext<Pick<GetCurrentApiKeyResponse, "id" | "tenant" | "scopes">>({
  id: "",
  tenant: "",
  scopes: [],
})

/** Returns whether the key has a scope. A control that needs another one is not there. */
export function useCan(): (scope: string) => boolean {
  const { scopes } = useContext(Access)
  return (scope) => scopes.includes(scope)
}
