/**
 * What one connection may hold, at both listeners. SECURITY.md has the same as a table. Beyond these, HTTP/2 of Node
 * bounds a connection by itself: header fields (128 in a request), streams reset by the client (a burst of 1,000 and 33 a
 * second after it, against rapid reset), invalid frames (1,000), and answers to settings and pings that the client does
 * not read (1,000).
 */
export const limits = {
  /**
   * Streams of HTTP/2 that are open at the same time. Not fewer: Node counts those that are over until it comes to them, and
   * resets new ones of a client that keeps to the limit.
   */
  maxConcurrentStreams: 1_000,
  /** Of them, the unary calls whose requests are read and answered; others wait. */
  streamsAtWork: 100,
  /** Of them, the pipelines; others are rejected. A client needs one, which carries any number of calls. */
  pipelines: 8,
  /** Of them, those that were answered and whose clients send on; others are closed at once. */
  lingeringStreams: 64,
  /** The header of a request, in bytes. Until a client of HTTP/2 has acknowledged that, it is 64 KiB. */
  maxHeaderBytes: 16 * 1024,
  /** Bytes of requests that are not whole, or whose calls are not over; more where `--max-message-bytes` needs it. */
  requestBytes: 10 * 1024 * 1024,
  /** With so many bytes of them no further request is read; more where `--max-message-bytes` needs it. */
  requestBytesForMore: 6 * 1024 * 1024,
  /** What each chunk of them counts beside its bytes: about what Node needs for it. */
  chunkBytes: 512,
  /** Bytes of answers that the client has not taken. */
  answerBytes: 16 * 1024 * 1024,
  /** With so many bytes of them no further call is made. */
  answerBytesForMore: 4 * 1024 * 1024,
  /** The same four of one key, over all of its connections. */
  keyRequestBytes: 16 * 1024 * 1024,
  keyRequestBytesForMore: 8 * 1024 * 1024,
  keyAnswerBytes: 64 * 1024 * 1024,
  keyAnswerBytesForMore: 32 * 1024 * 1024,
  /** Streams of one key that are open at the same time, over all of its connections. Each takes about 8 KiB of memory. */
  keyStreams: 2_048,
  /** Streams of health, which needs no key: of one connection, and of all. */
  openStreams: 16,
  openStreamsInAll: 1_024,
  /** The same of reflection. */
  reflectionStreams: 4,
  reflectionStreamsInAll: 16,
  /** Requests to reflection in a second, of all connections. */
  reflectionPerSecondInAll: 50,
  /** Bytes of a request to one of these, also in a stream. */
  openRequestBytes: 16 * 1024,
  /** Requests for health that a connection may make in a second; as many at once after a pause. Those of HTTP are answered beyond it. */
  healthPerSecond: 100,
  /** The same of a connection that has not made a call with a valid key, and how many at once after a pause. */
  strangerHealthPerSecond: 10,
  strangerHealthAtOnce: 20,
  /**
   * How long a message of a stream may take to arrive whole, and how long the client may take to take one, in
   * milliseconds. For unary calls it is `closeMs` that counts.
   */
  messageMs: 20_000,
  /** How long a client may take to take the answer to a call that was rejected, in milliseconds. */
  rejectionMs: 500,
  /** How long the stream of a unary call may be open when `--max-deadline-ms` has passed, in milliseconds. */
  closeMs: 5_000,
  /** How long a stream stays open that was answered before its request was whole, in milliseconds. */
  lingerMs: 200,
  /** The same of a connection of HTTP/1.1. Longer: all that the client sends on it would be lost. */
  lingerHttp1Ms: 1_000,
  /** Bytes that are read and thrown away of what comes over HTTP/2 meanwhile. */
  lingerBytes: 8 * 1024,
  /** The same over HTTP/1.1, where the connection goes on only if the request comes to its end. */
  lingerHttp1Bytes: 32 * 1024,
  /** How long a connection stays open without a stream that has not made a call with a valid key, in milliseconds. */
  strangerIdleMs: 30_000,
  /**
   * Requests without a valid key, for no method, that cannot be read, or beyond the rate of methods that need no key, after which
   * the client of a connection that has made no call with a valid key is told to connect again: who has none does so for each few.
   */
  strangerRequests: 20,
  /** After so many a connection of HTTP/2 is closed, whether its client has heard that or not. */
  strangerRequestsAtMost: 100,
  /** Requests of HTTP/1.1 that a connection may send before the first of them is answered. */
  pipelinedRequests: 16,
  /** How long a connection of HTTP/1.1 stays open between two requests, in milliseconds. */
  keepAliveMs: 75_000,
  /** How long a client of HTTP/2 may take to answer a PING, in milliseconds. It gets one at a time while it has streams. */
  pingMs: 10_000,
  /** How long a socket may take nothing of what waits for it, in milliseconds. */
  socketMs: 20_000,
} as const
