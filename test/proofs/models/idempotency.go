package models

import (
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

// someId stands for the id of a user whose creation was not answered.
const someId = "?"

// Idempotency is the promise about creations that are repeated, because an answer was lost or in any other way: calls with the
// same idempotency key create one user, and get the same answer. Its id is chosen by the service.
//
//	create: Who is the idempotency key. The answer has the id.
//	get:    the answer has the ids of all users of the key, sorted, separated by commas.
var Idempotency = model("idempotency keys", func(ids [Keys + 1]string, call history.Call, given history.Answer) (history.Answer, [Keys + 1]string) {
	if call.Method == "get" {
		return history.Answer{Value: listed(ids, given.Value)}, ids
	}
	if id := ids[call.Who]; id != "" && (id != someId || given.Unknown) {
		return history.Answer{Value: id}, ids
	}
	expected := history.Answer{Value: given.Value}
	switch {
	case given.Unknown:
		ids[call.Who] = someId
	case given.Value == "" || slices.Contains(ids[:], given.Value):
		expected.Value = "another id"
	default:
		ids[call.Who] = given.Value
	}
	return expected, ids
}, anotherUser)

// listed returns the ids as a list shows them. What it shows in place of the unknown ones is taken from the list.
func listed(ids [Keys + 1]string, given string) string {
	var users []string
	for _, id := range ids {
		if id != "" && id != someId {
			users = append(users, id)
		}
	}
	shown := strings.Split(given, ",")
	for _, id := range ids {
		if id == someId {
			i := slices.IndexFunc(shown, func(one string) bool { return one != "" && !slices.Contains(users, one) })
			if i < 0 {
				return "one more id"
			}
			users = append(users, shown[i])
		}
	}
	slices.Sort(users)
	return strings.Join(users, ",")
}

// anotherUser lets a repeated call return another user.
func anotherUser(operations []porcupine.Operation) (lies []Lie) {
	for i, first := range operations {
		for position, second := range operations {
			one, other := callOf(first), callOf(second)
			if i != position && one.Method == "create" && one == other && succeeded(first) && succeeded(second) {
				lies = append(lies, Lie{position, history.Answer{Value: "another"}})
			}
		}
	}
	return lies
}
