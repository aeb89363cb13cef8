import { number, plain } from "../text.ts"

/** How often each of some names occurs, the most frequent first, as a bar and a number. */
export function Shares({ counts }: { counts: ReadonlyMap<string, number | bigint> }) {
  const rows = [...counts].map(([name, count]) => [name, Number(count)] as const)
  rows.sort(([, one], [, other]) => other - one)
  const most = Math.max(...rows.map(([, count]) => count))
  return (
    <ul class="shares">
      {rows.slice(0, 12).map(([name, count]) => (
        <li key={name}>
          <span class="cut">{plain(name)}</span>
          <meter min={0} max={most} value={count} aria-hidden="true" />
          <span>{number(count)}</span>
        </li>
      ))}
    </ul>
  )
}
