/** The maximum size of a provider's answer in bytes. Three tokens of the maximum size fit into it. */
const maxAnswerBytes = 512 * 1024

/** Returns the body of a provider's answer; undefined if it is too large. */
export async function boundedBody(response: Response): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // The signal of the request also ends this loop. Leaving the loop closes the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
