package models

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

type (
	call   = history.Call
	answer = history.Answer
)

// told is a call with the answer that its caller got.
type told struct {
	call
	answer
}

// oneAfterAnother returns the history of calls of which each began when the one before had ended. Those with an unknown
// outcome never end.
func oneAfterAnother(calls ...told) (operations []porcupine.Operation) {
	for i, one := range calls {
		operation := porcupine.Operation{Input: one.call, Output: one.answer, Call: int64(2 * i), Return: int64(2*i + 1)}
		if one.Unknown {
			operation.Return = int64(2 * len(calls))
		}
		operations = append(operations, operation)
	}
	return operations
}

var (
	unknown         = answer{Unknown: true}
	noSession       = answer{Reason: "SESSION_NOT_FOUND"}
	createdToken    = told{call{Method: "create", Value: "e1"}, answer{Value: "e1"}}
	usedToken       = told{call{Method: "use"}, answer{Value: "e1"}}
	createdUser     = told{call{Method: "create", Value: "ada", Email: "a"}, answer{Value: "ada", Email: "a"}}
	renamedUser     = told{call{Method: "update", Value: "eve", If: "ada"}, answer{Value: "eve", Email: "a"}}
	linked          = told{call{Method: "link", Who: 1, Value: "t1"}, answer{Who: 1, Value: "t1"}}
	unlinked        = told{call{Method: "unlink"}, answer{Who: 1, Value: "t1"}}
	counted         = told{call{Method: "update", Value: "5"}, answer{Value: "5"}}
	createdOnce     = told{call{Method: "create", Who: 1}, answer{Value: "id1"}}
	createdSession  = told{call{Method: "create", Value: "v1"}, answer{Value: "v1"}}
	revokedSessions = told{call{Method: "revokeUser"}, answer{Value: "1"}}
	disabledUser    = told{call{Method: "disable"}, answer{Value: "1"}}
)

// Each line is a history that a service may have, and from which some false answer can be made.
var truths = []struct {
	model   Model
	history []told
}{
	{Tokens, []told{createdToken, usedToken, {call{Method: "use"}, answer{Reason: "VERIFICATION_TOKEN_NOT_FOUND"}}}},
	{Tokens, []told{createdToken, {call{Method: "use", Who: 1}, unknown}, {call{Method: "use", Who: 1}, answer{Value: "e1"}}, {call{Method: "use", Who: 1}, answer{Value: "e1"}}, {call{Method: "use"}, answer{Reason: "VERIFICATION_TOKEN_NOT_FOUND"}}}},
	{Users, []told{createdUser, renamedUser, {call{Method: "get"}, answer{Value: "eve", Email: "a"}}}},
	{Users, []told{createdUser, renamedUser, {call{Method: "update", Value: "bob", If: "ada"}, answer{Reason: "STALE_ETAG"}}}},
	{Users, []told{createdUser, {call{Method: "delete"}, unknown}, renamedUser, {call{Method: "delete"}, answer{Value: "eve", Email: "a"}}, {call{Method: "get"}, answer{Reason: "USER_NOT_FOUND"}}}},
	{Accounts, []told{linked, unlinked, {call{Method: "get"}, answer{Reason: "ACCOUNT_NOT_FOUND"}}}},
	{Accounts, []told{linked, unlinked, {call{Method: "link", Value: "t2"}, answer{Value: "t2"}}, {call{Method: "get"}, answer{Value: "t2"}}, {call{Method: "getUser"}, answer{}}}},
	{Counters, []told{counted, {call{Method: "update", Value: "4"}, answer{Reason: "COUNTER_REGRESSION"}}}},
	{Counters, []told{counted, {call{Method: "update", Value: "9"}, unknown}, counted, {call{Method: "get"}, answer{Value: "9"}}}},
	{Idempotency, []told{createdOnce, createdOnce, {call{Method: "get"}, answer{Value: "id1"}}}},
	{Idempotency, []told{{call{Method: "create", Who: 1}, unknown}, {call{Method: "get"}, answer{Value: "id1"}}, createdOnce, createdOnce}},
	{Sessions, []told{createdSession, revokedSessions, {call{Method: "get"}, noSession}}},
	{Sessions, []told{createdSession, {call{Method: "disable"}, unknown}, {call{Method: "get"}, answer{Value: "v1"}}, disabledUser, {call{Method: "get"}, noSession}}},
	{Sessions, []told{createdSession, {call{Method: "revokeAll"}, answer{}}, {call{Method: "get"}, noSession}, {call{Method: "delete"}, answer{Value: "v1"}}, {call{Method: "enable"}, answer{}}}},
}

func TestTrueHistoriesAreAcceptedAndFalseAnswersRejected(t *testing.T) {
	for i, one := range truths {
		operations := oneAfterAnother(one.history...)
		if one.model.Check(operations) != porcupine.Ok {
			t.Errorf("%s, history %d: rejected", one.model.Name, i)
		}
		count := len(one.model.lies(operations))
		if count == 0 {
			t.Errorf("%s, history %d: there is no false answer", one.model.Name, i)
		}
		for lie := range count {
			if one.model.Check(one.model.Falsified(operations, func(int) int { return lie })) != porcupine.Illegal {
				t.Errorf("%s, history %d: false answer %d was accepted", one.model.Name, i, lie)
			}
		}
	}
}

func TestBrokenPromisesAreRejected(t *testing.T) {
	for name, one := range map[string]struct {
		model   Model
		history []told
	}{
		"two callers get a token":                {Tokens, []told{createdToken, usedToken, usedToken}},
		"an unanswered creation counts twice":    {Tokens, []told{{createdToken.call, unknown}, usedToken, usedToken}},
		"two users have an address":              {Users, []told{createdUser, {call{Method: "create", Who: 1, Value: "bob", Email: "a"}, answer{Who: 1, Value: "bob", Email: "a"}}}},
		"an etag is used twice":                  {Users, []told{createdUser, renamedUser, {call{Method: "update", Value: "bob", If: "ada"}, answer{Value: "bob", Email: "a"}}}},
		"a deleted user is found by its address": {Users, []told{createdUser, {call{Method: "delete"}, createdUser.answer}, {call{Method: "getByEmail", Email: "a"}, createdUser.answer}}},
		"an account has two users":               {Accounts, []told{linked, {call{Method: "link", Value: "t2"}, answer{Value: "t2"}}}},
		"an update shows a later counter":        {Counters, []told{{counted.call, answer{Value: "6"}}, {call{Method: "update", Value: "6"}, answer{Value: "6"}}}},
		"a key makes two users":                  {Idempotency, []told{createdOnce, {call{Method: "create", Who: 1}, answer{Value: "id2"}}}},
		"a lost answer makes two users":          {Idempotency, []told{{createdOnce.call, unknown}, createdOnce, {call{Method: "get"}, answer{Value: "id1,id2"}}}},
		"two keys make one user":                 {Idempotency, []told{createdOnce, {call{Method: "create", Who: 2}, answer{Value: "id1"}}}},
		"a disabled user signs in":               {Sessions, []told{{call{Method: "disable"}, answer{Value: "0"}}, createdSession}},
		"a disabled user's session is found":     {Sessions, []told{createdSession, disabledUser, {call{Method: "get"}, answer{Value: "v1"}}}},
		"a session survives the end of all":      {Sessions, []told{createdSession, {call{Method: "revokeAll"}, answer{}}, {call{Method: "get"}, answer{Value: "v1"}}}},
		"a revocation counts what was not there": {Sessions, []told{createdSession, revokedSessions, revokedSessions}},
		"an update restores a deleted session":   {Sessions, []told{createdSession, {call{Method: "delete"}, answer{Value: "v1"}}, {call{Method: "update", Value: "v2"}, answer{Value: "v2"}}}},
	} {
		if one.model.Check(oneAfterAnother(one.history...)) != porcupine.Illegal {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestCallsWithDifferentKeysAreApart(t *testing.T) {
	created, used := createdToken, usedToken
	created.Key, used.Key = "one", "another"
	if Tokens.Check(oneAfterAnother(created, used)) != porcupine.Illegal {
		t.Error("a token of another key was used")
	}
}

func TestConcurrentCallsMayBeInAnyOrder(t *testing.T) {
	operations := oneAfterAnother(usedToken, createdToken)
	if Tokens.Check(operations) != porcupine.Illegal {
		t.Error("a token was used before it was created")
	}
	operations[0].Return = operations[1].Return
	if Tokens.Check(operations) != porcupine.Ok {
		t.Error("a token was not used by a call that had not ended when the token was created")
	}
}
