import type { StoredEvent } from "../store/types.js"

/** The position up to which events have been delivered. */
export interface FeedPosition {
  /** All events of the tenant with this sequence or a lower one have been delivered. */
  readonly sequence: number
  /** A time by the clock of the feed. Everything of the tenant that any process committed before it has this sequence or a lower one. */
  readonly asOf: number
}

/** A subscriber to events. Its callbacks must return at once, because they run between two reads of the database. */
export interface FeedSubscriber {
  /** The tenant whose events are delivered. */
  readonly tenant: string
  /**
   * Called after each read of the database, about 20 times per second. Without new events the call is a checkpoint,
   * which reports only the position.
   *
   * @param events the new events of the tenant, in their order.
   */
  onEvents(events: readonly StoredEvent[], position: FeedPosition): void
  /** Called when some events will not be delivered, because they are gone. Delivery continues after `position`. */
  onReset(position: FeedPosition): void
}

export interface Subscription {
  /** Settles when the delivery begins. The events after this position are delivered. */
  readonly start: Promise<FeedPosition>
  /** Ends the delivery. May be called more than once. */
  end(): void
}
