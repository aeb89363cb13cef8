/**
 * Limits of one connection, at both listeners; docs/limits.md is made from them. Those of API keys and tenants are in
 * util/shared-limits.ts. In addition Node's HTTP/2 itself bounds a connection: header fields (128 in a request), streams
 * reset by the client (a burst of 1,000, then 33 a second, against rapid reset), invalid frames (1,000), and answers to
 * settings and pings that the client does not read (1,000).
 */
export const limits = {
  /**
   * The maximum number of concurrently open HTTP/2 streams. It is not lower because Node counts finished streams until
   * it processes their end, and would reset new streams of a client that keeps to the limit.
   */
  maxConcurrentStreams: 1_000,
  /**
   * The same before a call of the connection was admitted. HTTP/2 counts them while it reads frames, so that what a client sends at once
   * is refused before any of it is handled. It is the number that RFC 9113 recommends as the least, and that clients assume at first.
   */
  unauthenticatedStreams: 100,
  /** Among them, unary calls whose requests are being read and answered. Further calls wait. */
  streamsAtWork: 100,
  /** Among them, streams that were answered while their clients still send. Further ones are closed at once. */
  lingeringStreams: 64,
  /** The largest header of a call, in bytes. It is 64 KiB until an HTTP/2 client has acknowledged this setting. */
  maxHeaderBytes: 16 * 1024,
  /**
   * The largest header at `/v1/authorize`, in bytes, which contains the cookies of a user. The HTTP listener reads
   * headers up to this size, because it knows the path only afterwards. This lets nobody hold more memory than an
   * HTTP/2 client that acknowledges no setting does.
   */
  maxAuthorizeHeaderBytes: 64 * 1024,
  /** Bytes of requests that are incomplete or still active. More if `--max-message-bytes` requires it. */
  requestBytes: 10 * 1024 * 1024,
  /** From this number of such bytes on no further request is read. More if `--max-message-bytes` requires it. */
  requestBytesForMore: 6 * 1024 * 1024,
  /** The overhead that is counted for each chunk of them, in bytes: about the memory that Node needs for a chunk. */
  chunkBytes: 512,
  /**
   * Chunks of an HTTP/1.1 request that have arrived and that nobody has read, as long as its call is not admitted. A client may write a
   * message in small pieces, but what arrives at once could be ten thousand of a single byte.
   */
  unreadChunks: 4_096,
  /** Bytes of answers that the client has not received yet. */
  answerBytes: 16 * 1024 * 1024,
  /** From this number of such bytes on no further call is made. */
  answerBytesForMore: 4 * 1024 * 1024,
  /** Streams of the health service, which requires no key: of one connection, and in total. */
  openStreams: 16,
  openStreamsInAll: 1_024,
  /** The same two limits for reflection. */
  reflectionStreams: 4,
  reflectionStreamsInAll: 16,
  /** Requests to reflection per second, over all connections. */
  reflectionPerSecondInAll: 50,
  /**
   * The largest request to health or reflection, in bytes, and the largest overhead of its chunks. For a stream it applies to each
   * message.
   */
  openRequestBytes: 16 * 1024,
  /**
   * Health requests that a connection may make per second, and in a burst after a pause. The probes `GET /healthz` and
   * `GET /readyz` are answered beyond this rate.
   */
  healthPerSecond: 100,
  /** The same rate, and the burst after a pause, for a connection that has not made a call with a valid key. */
  unauthenticatedHealthPerSecond: 10,
  unauthenticatedHealthBurst: 20,
  /** Requests with signals of one address per second, and in a burst after a pause. */
  signalsPerSecond: 100,
  signalBurst: 200,
  /** How long a request with a signal may be open, in milliseconds. */
  signalMs: 30_000,
  /**
   * The longest time in which one message of a stream must arrive completely, and in which the client must receive one,
   * in milliseconds. Unary calls are limited by `closeMs` instead.
   */
  messageMs: 20_000,
  /** The longest time in which a client must receive the answer to a rejected call, in milliseconds. */
  rejectionMs: 500,
  /** How long the stream of a unary call may stay open after `--max-deadline-ms`, in milliseconds. */
  closeMs: 5_000,
  /** How long a stream stays open if it was answered before its request was complete, in milliseconds. */
  lingerMs: 200,
  /**
   * The same over HTTP/1.1. Longer, because closing the connection loses everything else that the client sends, and the
   * answer if the client has not read it: one on Node that writes to a closed connection fails. On a busy machine it
   * stands still for more than a second between the header and the body.
   */
  lingerHttp1Ms: 5_000,
  /** Bytes of such a request, with the overhead of its chunks, that are still read and discarded over HTTP/2. */
  lingerBytes: 8 * 1024,
  /** The same over HTTP/1.1, where the connection can be used again only if the request is read to its end. */
  lingerHttp1Bytes: 32 * 1024,
  /**
   * Bytes of a request that is too large which are read and discarded before it is answered, if its call was admitted.
   * A client on Node that is answered while it still sends so much fails, and loses its connection.
   */
  tooLargeBytes: 64 * 1024 * 1024,
  /**
   * How long such a request may send nothing before it is answered, in milliseconds. A client on a busy machine stands
   * still for more than a second.
   */
  tooLargeIdleMs: 5_000,
  /** The idle timeout of an HTTP/2 connection without a stream and without a valid key so far, in milliseconds. */
  unauthenticatedIdleMs: 30_000,
  /**
   * The number of rejected requests after which a client is told to reconnect, if its connection has made no call with
   * a valid key. Counted are requests without a valid key, with an unknown key that is not looked up because there are
   * too many of them, for no method, that cannot be read, that were reset before they could be handled, or beyond the
   * rate of methods that need no key. A client without a key must therefore reconnect after every few requests.
   */
  unauthenticatedRequests: 20,
  /** After this number of them an HTTP/2 connection is closed, whether or not the client has reacted. */
  unauthenticatedRequestsAtMost: 100,
  /** HTTP/1.1 requests that a connection may send before the first of them is answered. */
  pipelinedRequests: 16,
  /** The keep-alive timeout of an HTTP/1.1 connection between two requests, in milliseconds. */
  keepAliveMs: 75_000,
  /** The timeout for the answer to a PING, in ms. A client gets one at a time while it has streams, and one after. */
  pingMs: 10_000,
  /** How long a socket may make no progress while data is queued for it, in milliseconds. */
  socketMs: 20_000,
} as const
