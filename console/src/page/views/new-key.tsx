import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { CallOptions } from "@connectrpc/connect"
import { useState } from "preact/hooks"
import { apiKeys } from "../client.ts"
import { KeyDialog, TextField } from "../parts/key-dialog.tsx"

const dayMs = 86_400_000

/** Creates an API key of the tenant. */
export function NewKey({ close, onDone }: { close: () => void; onDone: () => void }) {
  const [name, setName] = useState("")
  const [days, setDays] = useState("")
  // The same for each attempt: a call that is repeated with its idempotency key must be equal.
  const [opened] = useState(() => Date.now())
  const create = async (scopes: string[], options: CallOptions) => {
    const expireTime = days === "" ? undefined : timestampFromMs(opened + Number(days) * dayMs)
    return (await apiKeys.createApiKey({ name, scopes, expireTime }, options)).key
  }
  return (
    <KeyDialog title="Create a key" create={create} close={close} onDone={onDone}>
      <TextField label="Name" value={name} maxLength={255} onInput={setName} />
      <label>
        Expires after this many days (empty: never)
        <input type="number" min="1" max="36500" value={days} onInput={(event) => setDays(event.currentTarget.value)} />
      </label>
    </KeyDialog>
  )
}
