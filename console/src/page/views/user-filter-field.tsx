import { useEffect, useState } from "preact/hooks"
import { userFilters } from "./user-filters.ts"

const ofProvider = "provider:"

/** The choice of a list of users. Choosing one ends a search. */
export function UserFilters({ show, choose }: { show: string; choose: (name: string) => void }) {
  const given = show.startsWith(ofProvider) ? show.slice(ofProvider.length) : undefined
  const [provider, setProvider] = useState(given)
  useEffect(() => setProvider(given), [given])
  const submit = (event: Event) => {
    event.preventDefault()
    if (provider) choose(ofProvider + provider)
  }
  return (
    <form class="filters" onSubmit={submit}>
      <label>
        Show
        <select
          value={provider === undefined ? show : ofProvider}
          onChange={({ currentTarget: { value } }) => (value === ofProvider ? setProvider("") : choose(value))}
        >
          {Object.entries(userFilters).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
          <option value={ofProvider}>With an account of…</option>
        </select>
      </label>
      {provider !== undefined && (
        <label>
          Provider
          <input
            value={provider}
            maxLength={255}
            placeholder="github"
            onInput={(event) => setProvider(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      )}
    </form>
  )
}
