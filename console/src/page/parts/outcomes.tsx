/** One of the bars: how long something took, in milliseconds, and whether it has succeeded. */
export interface OutcomeBar {
  id: string
  isGood: boolean
  ms: number
}

/** The number of bars for which there is room, so that few are as wide as they are among many. */
const most = 100

/** The height of one half of the picture, and that of the lowest bar, so that each is seen. */
const half = 40
const lowest = 3

/**
 * Bars in their order: those of what has succeeded go up, the others down, as far as it took.
 *
 * @param name what the picture shows, for those who do not see it too.
 */
export function Outcomes({ name, bars }: { name: string; bars: readonly OutcomeBar[] }) {
  const longest = Math.max(1, ...bars.map(({ ms }) => ms))
  const shown = bars.slice(-most)
  return (
    <figure class="outcomes">
      <svg viewBox={`0 0 ${most * 6} ${2 * half}`} preserveAspectRatio="none" role="img" aria-label={name}>
        <line x1="0" x2={most * 6} y1={half} y2={half} />
        {shown.map(({ id, isGood, ms }, index) => {
          const height = Math.max(lowest, (half * ms) / longest)
          const x = (most - shown.length + index) * 6
          const y = isGood ? half - height : half
          return <rect key={id} class={isGood ? "good" : "bad"} x={x} y={y} width="4" height={height} />
        })}
      </svg>
      <figcaption>{name}</figcaption>
    </figure>
  )
}
