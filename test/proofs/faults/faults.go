// Package faults injects faults into a deployment, one after the other, and undoes each.
package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/authwire/authwire/test/proofs/deployment"
)

const (
	// undoTimeout limits how long it may take until a fault is undone, also when the run is over.
	undoTimeout = 3 * time.Minute
	// recoveryTimeout limits how long after the last fault all replicas are serving again.
	recoveryTimeout = time.Minute
)

// Log receives a line for each fault, with its time.
type Log func(format string, args ...any)

// Report is what a run has done.
type Report struct {
	// Counts has the number of faults of each name.
	Counts map[string]int
}

// Total is the number of all faults.
func (r Report) Total() (total int) {
	for _, count := range r.Counts {
		total += count
	}
	return total
}

// Run injects faults until the context ends: into the replicas and their connections, and at the same time into the
// database. Every fault is undone before Run returns. The error says what did not recover, or ended by itself. The seed
// decides the faults, their order and times.
func Run(ctx context.Context, d *deployment.Deployment, seed uint64, log Log) (Report, error) {
	begun := time.Now()
	report := Report{Counts: map[string]int{}}
	var mu sync.Mutex
	note := func(name, format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		report.Counts[name]++
		log("%7.1fs  %s: %s", time.Since(begun).Seconds(), name, fmt.Sprintf(format, args...))
	}
	var loops sync.WaitGroup
	var failures [2]error
	for index, kinds := range [][]kind{ofReplicas(d), ofDatabase(d)} {
		if len(kinds) == 0 {
			continue
		}
		run := &run{Context: ctx, Rand: rand.New(rand.NewPCG(seed, uint64(index))), note: note}
		loops.Go(func() { failures[index] = run.loop(kinds) })
	}
	loops.Wait()
	err := errors.Join(failures[:]...)
	for _, exit := range d.Exits() {
		err = errors.Join(err, errors.New(exit))
	}
	return report, errors.Join(err, recovered(context.WithoutCancel(ctx), d))
}

// kind is a sort of fault: inject injects it and undoes it.
type kind struct {
	name   string
	inject func(*run) error
}

// run is one sequence of faults.
type run struct {
	context.Context
	*rand.Rand
	note func(name, format string, args ...any)
	name string // of the current fault
}

// loop injects all kinds of faults in a random order, and then in another one.
func (r *run) loop(kinds []kind) error {
	for {
		for _, next := range r.Perm(len(kinds)) {
			r.wait(time.Second, 6*time.Second)
			if r.Err() != nil {
				return nil
			}
			r.name = kinds[next].name
			if err := kinds[next].inject(r); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
}

// say logs the current fault as injected.
func (r *run) say(format string, args ...any) { r.note(r.name, format, args...) }

// wait waits for a random time, or until the run is over.
func (r *run) wait(least, most time.Duration) {
	select {
	case <-r.Done():
	case <-time.After(r.between(least, most)):
	}
}

func (r *run) between(least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// undo runs what undoes a fault, which happens also when the run is over.
func (r *run) undo(undo func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r), undoTimeout)
	defer cancel()
	return undo(ctx)
}

// recovered waits until all replicas are serving clients.
func recovered(ctx context.Context, d *deployment.Deployment) error {
	ctx, cancel := context.WithTimeout(ctx, recoveryTimeout)
	defer cancel()
	for _, replica := range d.Replicas {
		for err := replica.Serving(ctx); err != nil; err = replica.Serving(ctx) {
			if ctx.Err() != nil {
				return fmt.Errorf("%s is not serving %v after the last fault: %w", replica.Endpoint(), recoveryTimeout, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}
