import type { User } from "@authwire/proto"
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { useLocation } from "preact-iso"
import { users } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { counted, nameOf, plain } from "../text.ts"
import { NewUser } from "./new-user.tsx"
import { UserFilters } from "./user-filter-field.tsx"
import { countOf, type UserFilter, userFilter } from "./user-filters.ts"

const pageSize = 50

const columns: readonly Column<User>[] = [
  {
    name: "User",
    cell: (user) => (
      <>
        <a href={`/users/${encodeURIComponent(user.id)}`}>{plain(nameOf(user))}</a>
        {user.email !== undefined && user.name && <div class="muted cut">{plain(user.email)}</div>}
        {user.disabled && <div class="mark">disabled</div>}
      </>
    ),
  },
  { name: "Id", class: "id cut", cell: ({ id }) => plain(id) },
  { name: "Created", cell: ({ createTime }) => <Time at={createTime} never="not known" /> },
]

/**
 * Search for users, and lists of them page by page. The address holds the search or the list, so that it can be shared. A
 * search is among all users.
 */
export function Users() {
  const can = useCan()
  const { query, route } = useLocation()
  const [isCreating, setCreating] = useState(false)
  const search = query.q ?? ""
  const show = search === "" ? (query.show ?? "all") : "all"
  const [typed, setTyped] = useState(search)
  // The address also changes by links and by the browser's buttons. What was typed meanwhile stays.
  const routed = useRef(search)
  useEffect(() => {
    if (search !== routed.current) setTyped(search)
    routed.current = search
  }, [search])
  // Once for all pages, because a token of a page is valid only with the same moments.
  const filter = useMemo(() => userFilter(show), [show])
  const pages = usePages(JSON.stringify([search, show]))
  const body = useRef<HTMLTableSectionElement>(null)
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed === search) return
      routed.current = typed
      route(typed === "" ? "/users" : `/users?q=${encodeURIComponent(typed)}`, true)
    }, 120)
    return () => clearTimeout(timer)
  }, [typed, search, route])
  const page = useLoaded((signal) => find(search.trim(), filter, pages.token, signal), [search, filter, pages.token])
  // By itself, because it may take long.
  const total = useLoaded(
    async (signal) => {
      const counting = search === "" ? countOf(filter) : undefined
      return counting && (await users.countUsers(counting, { signal })).count
    },
    [search, filter],
  )
  const choose = (name: string) => {
    setTyped("")
    route(name === "all" ? "/users" : `/users?show=${encodeURIComponent(name)}`, true)
  }

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const field = document.querySelector<HTMLElement>("[data-focus]")
      const links = [...(body.current?.querySelectorAll("a") ?? [])]
      const at = links.indexOf(document.activeElement as HTMLAnchorElement)
      // Only between the field and the results.
      if (at < 0 && document.activeElement !== field) return
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (step !== undefined) {
        event.preventDefault()
        const next = at + step
        const target = next < 0 ? field : links[Math.min(next, links.length - 1)]
        target?.focus()
      }
      if (event.key === "Escape") {
        setTyped("")
        field?.focus()
      }
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
  const found = page.answer?.users ?? []
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>Users</h1>
        {can("users:write") && (
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            Create user
          </button>
        )}
      </div>
      <input
        data-focus
        type="search"
        class="search"
        aria-label="Search users by e-mail address, name or id"
        placeholder="E-mail address, name or id…   ( / )"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <UserFilters show={show} choose={choose} />
      {total.answer !== undefined && <p class="muted">{counted(total.answer, "user")}</p>}
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer && found.length === 0 && (
        <Nothing>{nothing(search === "" && show === "all", pages.isFirst && page.answer.nextPageToken === "")}</Nothing>
      )}
      {found.length > 0 && (
        <Table columns={columns} rows={found} keyOf={({ id }) => id} isBusy={page.isLoading} body={body} />
      )}
      <Pages pages={pages} next={page.answer?.nextPageToken} />
      {isCreating && (
        <NewUser close={() => setCreating(false)} onDone={(id) => route(`/users/${encodeURIComponent(id)}`)} />
      )}
    </>
  )
}

/** Why a page has no users. A page of a list with a filter may have none although others have some. */
function nothing(isOfAll: boolean, isOnly: boolean): string {
  if (!isOnly) return "No user of this page matches."
  return isOfAll
    ? "No user has signed in yet. Sign in with your application, and the user appears here."
    : "No user matches."
}

/** Returns a page of a list, or with a search, of the users whose address or name begins with it, or whose id it is. */
async function find(
  search: string,
  filter: UserFilter,
  pageToken: string,
  signal: AbortSignal,
): Promise<{ users: User[]; nextPageToken: string }> {
  if (search === "") return users.listUsers({ ...filter, pageSize, pageToken }, { signal })
  // The token of a page of names has a mark, so that the next page is one of names too.
  if (pageToken.startsWith(ofNames)) return byName(search, pageToken.slice(ofNames.length), signal)
  const byEmail = await users.listUsers({ pageSize, emailPrefix: search, pageToken }, { signal })
  if (byEmail.users.length > 0 || pageToken !== "") return byEmail
  const byId = await users.getUser({ id: search }, { signal }).catch(() => undefined)
  if (byId?.user !== undefined) return { users: [byId.user], nextPageToken: "" }
  return byName(search, "", signal)
}

const ofNames = "name "

async function byName(namePrefix: string, pageToken: string, signal: AbortSignal) {
  const { users: found, nextPageToken } = await users.listUsers({ pageSize, namePrefix, pageToken }, { signal })
  return { users: found, nextPageToken: nextPageToken === "" ? "" : ofNames + nextPageToken }
}
