// Package workload makes the calls of many short histories, and has each checked.
package workload

import (
	"context"
	"fmt"
	"math/rand"
	"sync"

	"google.golang.org/grpc"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

const (
	// callersOfRound is the number of callers who compete for the same keys.
	callersOfRound = 4
	// keysOfRound is the number of keys.
	keysOfRound = 2
	// callsOfCaller is how many calls each of them makes in a history.
	callsOfCaller = 10
	// unknownOfRound ends a history early: every call with an unknown outcome multiplies the orders to try.
	unknownOfRound = 10
)

// Workload is a kind of caller.
type Workload struct {
	Model models.Model
	// Prepare creates what the calls of a round need. It may be absent.
	Prepare func(*caller) error
	// Step makes one call.
	Step func(*caller)
	// Last makes the calls that end each round, one after another, so that there is an answer to falsify. It may be absent.
	Last func(*caller)
}

// All are the workloads.
var All = []Workload{Tokens, users, accounts, counters, idempotency, Sessions}

// Options are those of a run.
type Options struct {
	// Endpoints are the gRPC addresses of the replicas, HOST:PORT.
	Endpoints []string
	// Keys are API keys with all scopes, of which each team of callers has one. An empty one: none.
	Keys []string
	// Clients is the number of concurrent callers, a multiple of four.
	Clients int
	// Seed decides what the callers do.
	Seed int64
	// Name distinguishes the rows of this run from those of others in the same database.
	Name string
	// Workloads run in turns. Empty: all.
	Workloads []Workload
	// Fault stands between the callers and each replica, whose position it is given, and breaks a promise. Absent: nothing.
	Fault func(replica int) grpc.UnaryClientInterceptor
	// Histories is how many the run ends after. 0: when its context ends.
	Histories int
}

// round is one history in the making.
type round struct {
	ctx      context.Context
	recorder *history.Recorder
	// id is part of the name of every row of the round.
	id string
	// provider is that of all sessions of the round, so that the revocation of all ends no others.
	provider string

	mutex  sync.Mutex
	counts map[string]int
	// known is what the callers have learned from answers, such as etags.
	known map[string]string
}

// Run makes histories until the context ends, and reports each to the tally.
func Run(ctx context.Context, options Options, tally *Tally) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var teams sync.WaitGroup
	for team := range max(1, options.Clients/callersOfRound) {
		callers := make([]*caller, callersOfRound)
		for i := range callers {
			c, err := newCaller(options, options.Keys[team%len(options.Keys)], options.Seed+int64(1000*team+i+1))
			if err != nil {
				return err
			}
			defer c.close()
			callers[i] = c
		}
		teams.Go(func() {
			if err := rounds(ctx, options, team, callers, tally); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	teams.Wait()
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return cause
	}
	return nil
}

// rounds lets the same callers make one history after another.
func rounds(ctx context.Context, options Options, team int, callers []*caller, tally *Tally) error {
	workloads := options.Workloads
	if len(workloads) == 0 {
		workloads = All
	}
	// A call with an unknown outcome may take effect in a later round, which then must have another provider.
	provider := 0
	pick := rand.New(rand.NewSource(options.Seed + int64(1000*team)))
	for number := team; ctx.Err() == nil && tally.Begin(options.Histories); number++ {
		workload := workloads[number%len(workloads)]
		r := &round{
			ctx: ctx, recorder: history.NewRecorder(), known: map[string]string{}, counts: map[string]int{},
			id:       fmt.Sprintf("%s-%d-%d", options.Name, team, number),
			provider: fmt.Sprintf("%s-%d-%d", options.Name, team, provider),
		}
		if err := r.run(workload, callers); err != nil {
			return fmt.Errorf("%s: %w", workload.Model.Name, err)
		}
		provider += min(1, r.recorder.UnknownSoFar())
		if err := tally.Add(workload.Model, r.recorder, pick.Intn, r.id); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) run(workload Workload, callers []*caller) error {
	for _, c := range callers {
		c.round, c.client = r, r.recorder.Client()
	}
	if workload.Prepare != nil {
		if err := workload.Prepare(callers[0]); err != nil {
			return err
		}
	}
	var active sync.WaitGroup
	for _, c := range callers {
		active.Go(func() {
			for i := 0; i < callsOfCaller && r.ctx.Err() == nil && r.recorder.UnknownSoFar() < unknownOfRound; i++ {
				workload.Step(c)
			}
		})
	}
	active.Wait()
	if workload.Last != nil && r.ctx.Err() == nil {
		workload.Last(callers[0])
	}
	return nil
}

// key returns one of the keys of the round.
func (c *caller) key() string { return idOf(c.round.id, c.random.Intn(keysOfRound)) }

// value returns a number that was not used in the round yet.
func (r *round) value() int { return r.count("", 1) + 1 }

// count returns how often something was counted before, and counts it again with `more` = 1.
func (r *round) count(name string, more int) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	before := r.counts[name]
	r.counts[name] += more
	return before
}

// learn keeps something for all callers of the round.
func (r *round) learn(name, value string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.known[name] = value
}

// recall returns what was learned last. It is empty if nothing was.
func (r *round) recall(name string) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.known[name]
}
