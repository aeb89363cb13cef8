// Package models says what a single process that handles one call after another would answer. porcupine decides whether the
// answers that concurrent callers got from several replicas can be put into such an order.
package models

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

// Model is the promise about one kind of rows.
type Model struct {
	Name string
	porcupine.Model
	// lies returns answers that cannot be true in a history, whatever the order of its calls was.
	lies func([]porcupine.Operation) []Lie
}

// Lie is a false answer to a call of a history.
type Lie struct {
	// Call is the position of the call.
	Call int
	// Answer takes the place of the true one.
	Answer history.Answer
}

// model makes a Model of a function that returns the only answer to a call in a state, and the state after it. The function
// gets the answer that was given too, and may take from it what the service chooses, such as a new id.
func model[State comparable](
	name string,
	apply func(State, history.Call, history.Answer) (history.Answer, State),
	lies func([]porcupine.Operation) []Lie,
) Model {
	return Model{name, porcupine.Model{
		Partition: byKey,
		Init:      func() any { var empty State; return empty },
		Step: func(state, input, output any) (bool, any) {
			given := output.(history.Answer)
			expected, next := apply(state.(State), input.(history.Call), given)
			return given.Unknown || given == expected, next
		},
		DescribeOperation: describe,
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}, lies}
}

// Check returns whether a history is linearizable. It is Unknown after a minute, which a short history never takes.
func (m Model) Check(operations []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(m.Model, operations, time.Minute)
}

// Draw writes a page that shows an order of the calls, or where each order fails.
func (m Model) Draw(operations []porcupine.Operation, file string) error {
	_, information := porcupine.CheckOperationsVerbose(m.Model, operations, time.Minute)
	return porcupine.VisualizePath(m.Model, information, file)
}

// Falsified returns the history with one false answer, which `pick` chooses among `n`; nil if there is none, because too few
// calls were answered.
func (m Model) Falsified(operations []porcupine.Operation, pick func(n int) int) []porcupine.Operation {
	lies := m.lies(operations)
	if len(lies) == 0 {
		return nil
	}
	lie := lies[pick(len(lies))]
	changed := slices.Clone(operations)
	changed[lie.Call].Output = lie.Answer
	return changed
}

// byKey divides a history. A call without a key is part of each division.
func byKey(operations []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, operation := range operations {
		parts[callOf(operation).Key] = nil
	}
	for _, operation := range operations {
		for key := range parts {
			if own := callOf(operation).Key; own == key || own == "" {
				parts[key] = append(parts[key], operation)
			}
		}
	}
	return slices.Collect(maps.Values(parts))
}

func describe(input, output any) string {
	call, answer := input.(history.Call), output.(history.Answer)
	text := fmt.Sprintf("%s %s", call.Method, call.Key)
	for _, part := range []struct {
		name  string
		value any
	}{{"who", call.Who}, {"value", call.Value}, {"email", call.Email}, {"if", call.If}} {
		if part.value != "" && part.value != 0 {
			text += fmt.Sprintf(" %s=%v", part.name, part.value)
		}
	}
	switch {
	case answer.Unknown:
		return text + " → ?"
	case answer.Reason != "":
		return text + " → " + answer.Reason
	}
	return fmt.Sprintf("%s → %s %s %d", text, answer.Value, answer.Email, answer.Who)
}

// outdated lets a call of the method "get" show what was stored before another call replaced it, which had ended when "get"
// began. `writes` returns whether a call writes what the second one reads.
func outdated(operations []porcupine.Operation, writes func(write, read history.Call) bool) (lies []Lie) {
	for position, read := range operations {
		if callOf(read).Method != "get" || answerOf(read).Unknown {
			continue
		}
		for _, first := range operations {
			if callOf(first).Value == "" || !succeeded(first) || !writes(callOf(first), callOf(read)) {
				continue
			}
			if slices.ContainsFunc(operations, func(second porcupine.Operation) bool {
				return succeeded(second) && first.Return < second.Call && second.Return < read.Call && writes(callOf(second), callOf(read))
			}) {
				lies = append(lies, Lie{position, answerOf(first)})
			}
		}
	}
	return lies
}

func callOf(operation porcupine.Operation) history.Call { return operation.Input.(history.Call) }

func answerOf(operation porcupine.Operation) history.Answer { return operation.Output.(history.Answer) }

// succeeded returns whether a call was answered, and not refused.
func succeeded(operation porcupine.Operation) bool {
	answer := answerOf(operation)
	return !answer.Unknown && answer.Reason == ""
}
