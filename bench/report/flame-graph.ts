import type { Frame } from "./folded-profile.ts"

const width = 1200
const rowHeight = 16
const letterWidth = 6.7
/** Narrower ones cannot be seen. */
const leastWidth = 1

/** Colours of whose code it is; others are grey. */
const colours: Record<string, string> = {
  authwire: "#f4a259",
  "grpc-js": "#7fb069",
  "node:http2": "#8ecae6",
  "node:net, node:stream": "#bde0fe",
  "node, other": "#d6e6f2",
  protobuf: "#e6b8f2",
  protovalidate: "#d4a5a5",
  connect: "#c9e4ca",
  mysql2: "#f7d774",
  typeorm: "#e0c097",
  pino: "#c2b280",
  "garbage collection": "#e76f51",
  "native code": "#cccccc",
  "load generator": "#dddddd",
}

/**
 * Draws a flame graph: a frame is as wide as the time of its function with all that it called, and stands on the one that
 * called it. Frames of one caller are in the order of their names. Pointing at a frame shows its name and share.
 */
export function flameGraph(root: Frame, title: string): string {
  const frames: { frame: Frame; x: number; depth: number }[] = []
  const scale = width / root.total
  const place = (frame: Frame, x: number, depth: number) => {
    if (frame.total * scale < leastWidth) return
    frames.push({ frame, x, depth })
    let from = x
    for (const child of frame.children) {
      place(child, from, depth + 1)
      from += child.total * scale
    }
  }
  place(root, 0, 0)

  const rows = Math.max(...frames.map(({ depth }) => depth)) + 1
  const legend = [...new Set(frames.map(({ frame }) => frame.group))].filter((group) => group !== "").toSorted()
  const top = 48
  const height = top + rows * rowHeight + 8
  const boxes = frames.map(({ frame, x, depth }) => {
    const boxWidth = frame.total * scale
    const y = top + (rows - 1 - depth) * rowHeight
    const share = `${((frame.total / root.total) * 100).toFixed(1)} %`
    const letters = Math.floor((boxWidth - 4) / letterWidth)
    const label = frame.name.length <= letters ? frame.name : letters < 4 ? "" : `${frame.name.slice(0, letters - 1)}…`
    const text = label && `<text x="${round(x + 3)}" y="${y + 12}">${escaped(label)}</text>`
    const tip = [frame.name, frame.where && `(${frame.where})`, share].filter(Boolean).join(" ")
    return `<g><title>${escaped(tip)}</title><rect x="${round(x)}" y="${y}" width="${round(Math.max(0.2, boxWidth - 0.5))}" height="${rowHeight - 1}" fill="${colour(frame.group)}"/>${text}</g>`
  })
  let legendX = 4
  const keys = legend.map((group) => {
    const x = legendX
    legendX += 26 + group.length * letterWidth
    return `<rect x="${x}" y="26" width="10" height="10" fill="${colour(group)}"/><text x="${x + 14}" y="35">${escaped(group)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, monospace" font-size="11">
<rect width="${width}" height="${height}" fill="white"/>
<text x="4" y="15" font-size="13">${escaped(title)}</text>
${[...keys, ...boxes].join("\n")}
</svg>
`
}

const colour = (group: string) => colours[group] ?? "#e8e8e8"
const round = (value: number) => Number(value.toFixed(1))
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
