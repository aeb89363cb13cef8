package models

import (
	"strconv"

	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

// Counters are those of authenticators, which begin at 0. A counter never decreases. An update shows the value that it has
// stored, not that of a later call.
//
//	update: Value is the new counter.
//	get:    the answer shows the counter.
var Counters = model("authenticator counters", func(counter int, call history.Call, _ history.Answer) (history.Answer, int) {
	if call.Method == "update" {
		if number(call.Value) < counter {
			return history.Answer{Reason: "COUNTER_REGRESSION"}, counter
		}
		counter = number(call.Value)
	}
	return history.Answer{Value: strconv.Itoa(counter)}, counter
}, lowered)

// lowered lets an answer show a lower counter than an update has stored before.
func lowered(operations []porcupine.Operation) (lies []Lie) {
	for _, first := range operations {
		if callOf(first).Method != "update" || !succeeded(first) {
			continue
		}
		for position, second := range operations {
			if callOf(first).Key != callOf(second).Key || second.Call <= first.Return || answerOf(second).Unknown {
				continue
			}
			if value := number(callOf(first).Value); callOf(second).Method == "get" {
				lies = append(lies, Lie{position, history.Answer{Value: strconv.Itoa(value - 1)}})
			} else if lower := callOf(second).Value; number(lower) < value {
				lies = append(lies, Lie{position, history.Answer{Value: lower}})
			}
		}
	}
	return lies
}

func number(text string) int {
	value, _ := strconv.Atoi(text)
	return value
}
