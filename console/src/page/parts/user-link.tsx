import { plain } from "../text.ts"

/** The way to the page of a user. An id that may be an e-mail address is known only as a hash, which names no page. */
export function UserLink({ id, name }: { id: string; name: string | undefined }) {
  if (id.startsWith("sha256:")) return <span>{plain(id)}</span>
  return (
    <a href={`/users/${encodeURIComponent(id)}`} title={name === undefined ? undefined : plain(id)}>
      {plain(name ?? id)}
    </a>
  )
}
