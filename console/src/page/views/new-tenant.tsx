import type { CallOptions } from "@connectrpc/connect"
import { useState } from "preact/hooks"
import { tenants } from "../client.ts"
import { KeyDialog, TextField } from "../parts/key-dialog.tsx"

/** Creates a tenant and its first API key. */
export function NewTenant({ close, onDone }: { close: () => void; onDone: () => void }) {
  const [name, setName] = useState("")
  const [apiKeyName, setApiKeyName] = useState("")
  const create = async (scopes: string[], options: CallOptions) =>
    (await tenants.createTenant({ name, apiKeyName, scopes }, options)).key
  return (
    <KeyDialog title="Create a tenant" create={create} close={close} onDone={onDone}>
      <TextField
        label="Name: a-z, 0-9 and -"
        value={name}
        maxLength={63}
        pattern="[a-z0-9][a-z0-9\-]*"
        onInput={setName}
      />
      <TextField label="Name of its first key" value={apiKeyName} maxLength={255} onInput={setApiKeyName} />
    </KeyDialog>
  )
}
