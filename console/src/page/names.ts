import { useEffect, useRef, useState } from "preact/hooks"
import { users } from "./client.ts"
import { useCan } from "./permissions.ts"
import { nameOf } from "./text.ts"

/** The most names that are kept. With more, they are read again as they are needed. */
const most = 2000

/**
 * Returns the names of users by their ids, as far as they are known: a key that may not read users knows none, and nobody those of
 * deleted users. They are read together, one call at a time, however fast new ids appear.
 */
export function useNames(ids: readonly string[]): (id: string) => string | undefined {
  const can = useCan()
  const isAllowed = can("users:read")
  const [names, setNames] = useState<ReadonlyMap<string, string | undefined>>(new Map())
  const isAsking = useRef(false)
  const unknown = isAllowed ? ids.filter((id) => id !== "" && !names.has(id)) : []
  useEffect(() => {
    if (isAsking.current || unknown.length === 0) return
    isAsking.current = true
    const asked = [...new Set(unknown)].slice(0, 100)
    users
      .batchGetUsers({ ids: asked })
      .then(
        ({ users: found, missingIds }) => [
          ...found.map((user) => [user.id, nameOf(user)] as const),
          ...missingIds.map((id) => [id, undefined] as const),
        ],
        // The ids are enough.
        () => asked.map((id) => [id, undefined] as const),
      )
      .then((read) => {
        isAsking.current = false
        setNames((before) => new Map([...(before.size > most ? [] : before), ...read]))
      })
  })
  return (id) => names.get(id)
}
