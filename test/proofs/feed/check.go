// Package feed checks the event feed: every watcher gets the same events in the same order, each once, and those of all
// writes that were acknowledged.
package feed

import (
	"fmt"
	"time"
)

// Event is what a watcher has received.
type Event struct {
	// Key names the write: a kind, and the id of the user.
	Key string
	// Created is the time of the write, in nanoseconds since 1970.
	Created int64
}

// Log is what a watcher has received, in its order, from the position From of the complete feed on.
type Log struct {
	Watcher string
	From    int
	Events  []Event
}

// Write is a write whose event is expected once. No two writes have the same key.
type Write struct {
	// Begin and End are times since the start of the run. A write whose answer was lost may or may not have been done, and
	// has no end.
	Begin, End   time.Duration
	Acknowledged bool
}

// Check returns what the logs of a tenant's watchers contradict. The first log is complete. With `all`, nobody else writes
// in the tenant.
func Check(logs []Log, writes map[string]Write, all bool) (violations []string) {
	complete := logs[0]
	for _, log := range logs[1:] {
		if difference := compare(complete, log); difference != "" {
			violations = append(violations, difference)
		}
	}
	return append(append(violations, count(complete, writes, all)...), order(complete, writes)...)
}

// compare returns where a log differs from the complete one.
func compare(complete, log Log) string {
	expected := complete.Events[log.From:]
	for i := range max(len(expected), len(log.Events)) {
		if i >= len(expected) || i >= len(log.Events) || expected[i] != log.Events[i] {
			return fmt.Sprintf("%s differs from %s at its event %d: %v, not %v", log.Watcher, complete.Watcher, i, at(log.Events, i), at(expected, i))
		}
	}
	return ""
}

func at(events []Event, i int) Event {
	if i < len(events) {
		return events[i]
	}
	return Event{Key: "the end"}
}

// count returns the writes that do not have exactly one event, and the events without a write.
func count(log Log, writes map[string]Write, all bool) (violations []string) {
	counts := map[string]int{}
	for _, event := range log.Events {
		counts[event.Key]++
		if _, written := writes[event.Key]; all && !written {
			violations = append(violations, "nobody has made the write of "+event.Key)
		}
	}
	for key, write := range writes {
		switch found := counts[key]; {
		case found > 1:
			violations = append(violations, fmt.Sprintf("%s has %d events", key, found))
		case found == 0 && write.Acknowledged:
			violations = append(violations, key+" was acknowledged, and has no event")
		}
	}
	return violations
}

// order returns the events that come after the event of a write which began later than they were acknowledged.
func order(log Log, writes map[string]Write) (violations []string) {
	var latest time.Duration
	var latestKey string
	for _, event := range log.Events {
		write, found := writes[event.Key]
		if !found {
			continue
		}
		if write.Acknowledged && write.End < latest {
			violations = append(violations, fmt.Sprintf("%s was acknowledged before %s began, and comes after it", event.Key, latestKey))
		}
		if write.Begin > latest {
			latest, latestKey = write.Begin, event.Key
		}
	}
	return violations
}

// falsified returns logs that cannot be true: an event was dropped, doubled, or swapped with another one, for the last
// watcher, or for all.
func falsified(logs []Log, writes map[string]Write, pick func(n int) int) (all [][]Log) {
	events := logs[0].Events
	if len(events) < 2 || len(logs) < 2 {
		return nil
	}
	last := len(logs) - 1
	// Of one watcher, any event and its neighbour.
	if own := logs[last].Events; len(own) > 1 {
		i := pick(len(own) - 1)
		changes := [][]Event{dropped(own, i), doubled(own, i)}
		// Others, who write in the same tenant, may cause the same event twice in a millisecond.
		if own[i] != own[i+1] {
			changes = append(changes, swapped(own, i, i+1))
		}
		for _, changed := range changes {
			each := append([]Log(nil), logs...)
			each[last].Events = changed
			all = append(all, each)
		}
	}
	// Of all watchers, an event of a write that was acknowledged, and one of a write that began later.
	first := -1
	for from, i := pick(len(events)), 0; i < len(events) && first < 0; i++ {
		if writes[events[(from+i)%len(events)].Key].Acknowledged {
			first = (from + i) % len(events)
		}
	}
	if first < 0 {
		return all
	}
	changes := [][]Event{dropped(events, first), doubled(events, first)}
	for i := first + 1; i < len(events); i++ {
		if write, found := writes[events[i].Key]; found && write.Begin > writes[events[first].Key].End {
			changes = append(changes, swapped(events, first, i))
			break
		}
	}
	for _, changed := range changes {
		all = append(all, []Log{{logs[0].Watcher, 0, changed}, {logs[1].Watcher, 0, changed}})
	}
	return all
}

func dropped(events []Event, i int) []Event {
	return append(append([]Event(nil), events[:i]...), events[i+1:]...)
}

func doubled(events []Event, i int) []Event {
	return append(append([]Event(nil), events[:i+1]...), events[i:]...)
}

func swapped(events []Event, i, j int) []Event {
	changed := append([]Event(nil), events...)
	changed[i], changed[j] = changed[j], changed[i]
	return changed
}
