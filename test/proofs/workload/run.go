// Package workload makes the calls of many short histories, and has each checked.
package workload

import (
	"context"
	"fmt"
	"math/rand"
	"sync"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

const (
	// callersOfRound is the number of callers who compete for the same keys.
	callersOfRound = 4
	// callsOfCaller is how many calls each of them makes in a history.
	callsOfCaller = 10
	// unknownOfRound ends a history early: every call with an unknown outcome multiplies the orders to try.
	unknownOfRound = 10
)

// Workload is a kind of caller.
type Workload struct {
	Model models.Model
	// Prepare creates what the calls of a round need. It may be absent.
	Prepare func(*Caller) error
	// Step makes one call.
	Step func(*Caller)
	// Last makes the calls that end each round, one after another, so that there is an answer to falsify. It may be absent.
	Last func(*Caller)
}

// All are the workloads.
var All = []Workload{tokens}

// Options are those of a run.
type Options struct {
	// Endpoints are the gRPC addresses of the replicas, HOST:PORT.
	Endpoints []string
	// Key is the API key, with all scopes. Empty: none.
	Key string
	// Clients is the number of concurrent callers, a multiple of four.
	Clients int
	// Seed decides what the callers do.
	Seed int64
	// Name distinguishes the rows of this run from those of others in the same database.
	Name string
	// Workloads run in turns. Empty: all.
	Workloads []Workload
	// Histories is how many the run ends after. 0: when its context ends.
	Histories int
}

// round is one history in the making.
type round struct {
	ctx      context.Context
	recorder *history.Recorder
	// id is part of the name of every row of the round.
	id string
	// team is the number of the callers who make one round after another.
	team   int
	mutex  sync.Mutex
	serial int
	// etags has the value that a caller has read with an etag.
	etags map[string]string
}

// Run makes histories until the context ends, and reports each to the tally.
func Run(ctx context.Context, options Options, tally *Tally) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var teams sync.WaitGroup
	for team := range max(1, options.Clients/callersOfRound) {
		callers := make([]*Caller, callersOfRound)
		for i := range callers {
			caller, err := newCaller(options.Endpoints, options.Key, options.Seed+int64(1000*team+i+1))
			if err != nil {
				return err
			}
			defer caller.close()
			callers[i] = caller
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
func rounds(ctx context.Context, options Options, team int, callers []*Caller, tally *Tally) error {
	workloads := options.Workloads
	if len(workloads) == 0 {
		workloads = All
	}
	pick := rand.New(rand.NewSource(options.Seed + int64(1000*team)))
	for number := team; ctx.Err() == nil && tally.Begin(options.Histories); number++ {
		workload := workloads[number%len(workloads)]
		r := &round{ctx: ctx, recorder: history.NewRecorder(), id: fmt.Sprintf("%s-%d-%d", options.Name, team, number), team: team, etags: map[string]string{}}
		if err := r.run(workload, callers); err != nil {
			return fmt.Errorf("%s: %w", workload.Model.Name, err)
		}
		if err := tally.Add(workload.Model, r.recorder, pick.Intn, r.id); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) run(workload Workload, callers []*Caller) error {
	for _, caller := range callers {
		caller.round, caller.client = r, r.recorder.Client()
	}
	if workload.Prepare != nil {
		if err := workload.Prepare(callers[0]); err != nil {
			return err
		}
	}
	var active sync.WaitGroup
	for _, caller := range callers {
		active.Go(func() {
			for i := 0; i < callsOfCaller && r.ctx.Err() == nil && r.recorder.UnknownSoFar() < unknownOfRound; i++ {
				workload.Step(caller)
			}
		})
	}
	active.Wait()
	if workload.Last != nil && r.ctx.Err() == nil {
		workload.Last(callers[0])
	}
	return nil
}

// value returns a number that was not used in the round yet.
func (r *round) value() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.serial++
	return r.serial
}
