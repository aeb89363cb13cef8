/** How an input ended, as its sender saw it. */
export type Outcome =
  | Answer
  /** The server closed the connection, or reset the stream. */
  | { end: "closed" }
  /** The connection was open for as long as it was held. With the last code by which the server ended it or a stream. */
  | { end: "held"; code?: string | undefined }
  /** The server closed a connection that was held. */
  | { end: "ended"; code?: string | undefined }
  /** Nothing came for as long as a sender waits. */
  | { end: "hung" }
  /** The client of Node would not send it. */
  | { end: "unsent" }

export interface Answer {
  end: "answered"
  status: number
  headers: Record<string, string>
  trailers: Record<string, string>
  body: Buffer
}

/** What became of an input, in a word for the table, and what is wrong with it, if anything is. */
export interface Verdict {
  label: string
  finding?: string
}

/** How long a sender waits, in milliseconds: longer than any call may take on the server. */
export const patienceMs = 20_000
