/** The outcome of an input, as the sender observed it. */
export type Outcome =
  | Answer
  /** The server closed the connection or reset the stream. */
  | { end: "closed" }
  /**
   * The connection stayed open until the end of the hold time. `code` is the last error code of the server for it or a
   * stream.
   */
  | { end: "held"; code?: string | undefined }
  /** The server closed a connection that was to be held. */
  | { end: "ended"; code?: string | undefined }
  /** Nothing arrived within `patienceMs`. */
  | { end: "hung" }
  /** Node's client refused to send the input. */
  | { end: "unsent" }

export interface Answer {
  end: "answered"
  status: number
  headers: Record<string, string>
  trailers: Record<string, string>
  body: Buffer
}

/** The result of an input: a label for the summary, and a finding if something is wrong. */
export interface Verdict {
  label: string
  finding?: string
}

/** How long a sender waits for an answer, in milliseconds: longer than any call may take on the server. */
export const patienceMs = 20_000
