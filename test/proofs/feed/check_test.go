package feed

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// recorded returns the logs of two watchers and a replay, and the writes: one after another, the third of them unknown.
func recorded(n int) ([]Log, map[string]Write) {
	writes := map[string]Write{}
	var events []Event
	for i := range n {
		key := fmt.Sprint("write ", i)
		begin := time.Duration(i) * time.Second
		writes[key] = Write{begin, begin + time.Second/2, i != 2}
		events = append(events, Event{key, int64(begin)})
	}
	return []Log{{"first", 0, events}, {"second", 0, events}, {"replay", 3, events[3:]}}, writes
}

func TestTrueLogsAreAccepted(t *testing.T) {
	logs, writes := recorded(20)
	if violations := Check(logs, writes, true); len(violations) > 0 {
		t.Error(violations)
	}
	// The write whose answer was lost was not done.
	without := []Log{{"first", 0, dropped(logs[0].Events, 2)}, {"second", 0, dropped(logs[1].Events, 2)}}
	if violations := Check(without, writes, true); len(violations) > 0 {
		t.Error(violations)
	}
	// Two writes at the same time have no order.
	delete(writes, "write 5")
	writes["write 5"] = Write{6*time.Second + 1, 7 * time.Second, true}
	both := swapped(logs[0].Events, 5, 6)
	if violations := Check([]Log{{"first", 0, both}, {"second", 0, both}}, writes, true); len(violations) > 0 {
		t.Error(violations)
	}
}

func TestFalsifiedLogsAreRejected(t *testing.T) {
	logs, writes := recorded(20)
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		all := falsified(logs, writes, random.IntN)
		if len(all) < 5 {
			t.Fatal("too few falsified logs:", len(all))
		}
		for i, changed := range all {
			if len(Check(changed, writes, true)) == 0 {
				t.Fatalf("the falsified logs %d are accepted: %v", i, changed)
			}
		}
	}
}

func TestFalsifiedLogsDifferWhereOthersCauseTheSameEventTwice(t *testing.T) {
	writes := map[string]Write{}
	same := []Event{{"of others", 1}, {"of others", 1}}
	logs := []Log{{"first", 0, same}, {"second", 0, same}}
	for i, changed := range falsified(logs, writes, func(int) int { return 0 }) {
		if compare(changed[0], changed[1]) == "" {
			t.Errorf("the falsified logs %d are true: %v", i, changed)
		}
	}
}

func TestEventsOfNobodyAreRejected(t *testing.T) {
	logs, writes := recorded(20)
	delete(writes, "write 4")
	if len(Check(logs, writes, true)) != 1 || len(Check(logs, writes, false)) != 0 {
		t.Error("an event without a write is rejected only where nobody else writes")
	}
}
