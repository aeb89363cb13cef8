import { useState } from "preact/hooks"
import { apiKeys } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { useCan } from "../permissions.ts"
import { type AuditFilter, auditFilters, methodNames } from "./audit-filter.ts"

type By = keyof typeof auditFilters

const placeholders = { user: "Id of a user", key: "Id of a key", method: "DeleteUser" } as const

/** Chooses entries of the audit: by one of user, key and method, and by time. */
export function AuditFilterForm({ filter, choose }: { filter: AuditFilter; choose: (filter: AuditFilter) => void }) {
  const can = useCan()
  const given = (Object.keys(auditFilters) as By[]).find((name) => filter[name])
  const [by, setBy] = useState(given)
  const [value, setValue] = useState(given === undefined ? "" : (filter[given] ?? ""))
  const [since, setSince] = useState(filter.since ?? "")
  const [before, setBefore] = useState(filter.before ?? "")
  const keys = useLoaded(
    async (signal) => (can("keys:read") ? (await apiKeys.listApiKeys({ pageSize: 100 }, { signal })).apiKeys : []),
    [],
  )
  const suggestions: Record<By, readonly [value: string, label: string][]> = {
    user: [],
    key: (keys.answer ?? []).map(({ id, name }) => [id, name]),
    method: methodNames.map((name) => [name.split("/").at(-1) ?? "", name]),
  }
  const submit = (event: Event) => {
    event.preventDefault()
    choose({
      ...(by !== undefined && value.trim() !== "" && { [by]: value.trim() }),
      ...(since !== "" && { since }),
      ...(before !== "" && { before }),
    })
  }
  return (
    <form class="filters" onSubmit={submit}>
      <label>
        Show
        <select
          value={by ?? ""}
          onChange={({ currentTarget: { value: name } }) => {
            setBy(name === "" ? undefined : (name as By))
            setValue("")
          }}
        >
          <option value="">everything</option>
          <option value="user">about a user</option>
          <option value="key">with a key</option>
          <option value="method">of a method</option>
        </select>
      </label>
      {by !== undefined && (
        <label>
          {auditFilters[by]}
          <input
            value={value}
            maxLength={255}
            list={`audit-${by}`}
            placeholder={placeholders[by]}
            onInput={(event) => setValue(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
          />
          <datalist id={`audit-${by}`}>
            {suggestions[by].map(([one, label]) => (
              <option key={label} value={one} label={label} />
            ))}
          </datalist>
        </label>
      )}
      <label>
        Since
        <input type="datetime-local" value={since} onInput={(event) => setSince(event.currentTarget.value)} />
      </label>
      <label>
        Before
        <input type="datetime-local" value={before} onInput={(event) => setBefore(event.currentTarget.value)} />
      </label>
      <button type="submit">Filter</button>
    </form>
  )
}
