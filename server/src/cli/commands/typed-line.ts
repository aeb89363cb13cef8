import { createInterface } from "node:readline/promises"

/** Asks for a line on standard input; returns undefined if that ends. */
export async function typedLine(question: string, say: (text: string) => void): Promise<string | undefined> {
  say(question)
  const lines = createInterface({ input: process.stdin })
  for await (const line of lines) return line.trim()
  return undefined
}
