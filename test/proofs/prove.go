package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/authwire/authwire/test/proofs/deployment"
	"github.com/authwire/authwire/test/proofs/faults"
	"github.com/authwire/authwire/test/proofs/feed"
	"github.com/authwire/authwire/test/proofs/workload"
)

// proof is what was found on one engine.
type proof struct {
	engine string
	faults int
	// counts are those of all models, of which events are those of the feed.
	counts, events workload.Counts
	failed         bool
}

// proveEngines checks one engine after the other, or all that this machine can run if none is named. It returns whether
// something that was promised does not hold.
func proveEngines(ctx context.Context, names string, duration time.Duration, at deployment.Options, calls workload.Options, tally func() *workload.Tally, w io.Writer) (failed bool, err error) {
	engines := strings.Split(names, ",")
	if names == "" {
		engines = slices.DeleteFunc(slices.Clone(deployment.Engines), func(engine string) bool {
			why := deployment.Missing(engine, at)
			if why != "" {
				fmt.Fprintf(w, "left out: %s: %s\n", engine, why)
			}
			return why != ""
		})
	}
	var proofs []proof
	for _, engine := range engines {
		at.Engine = engine
		found, problem := prove(ctx, duration, at, calls, tally(), w)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", engine, problem))
		}
		failed = failed || found.failed
		proofs = append(proofs, found)
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintf(w, "\n| database | faults | calls | unknown | events | false ones rejected | violations |\n| --- |%s\n", strings.Repeat(" ---: |", 6))
	for _, one := range proofs {
		all, events := one.counts, one.events
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d of %d | %d |\n", one.engine, one.faults, all.Operations-events.Operations,
			all.Unknown-events.Unknown, events.Operations, all.Rejected, all.Falsified, all.Violations)
	}
	return failed, err
}

// prove makes calls, follows the feed and injects faults, all at the same time, on a deployment of its own.
func prove(ctx context.Context, duration time.Duration, at deployment.Options, calls workload.Options, tally *workload.Tally, w io.Writer) (proof, error) {
	// With odd seeds, a write is a transaction with an entry of the audit log.
	auditStore := [2]string{"log", "database"}[calls.Seed&1]
	at.Environment = []string{"AUTHWIRE_AUDIT_STORE=" + auditStore}
	fmt.Fprintf(w, "\n%s, seed %d, audit store %s, for %v\n", at.Engine, calls.Seed, auditStore, duration)
	result := proof{engine: at.Engine, failed: true}
	d, err := deployment.Start(ctx, at)
	if err != nil {
		return result, err
	}
	stop := sync.OnceValue(d.Stop)
	defer stop()
	// In a keyspace with two shards, the first two tenants are in one, and the others in the other one.
	names := []string{"tenant-1", "tenant-2", "tenant-3", "tenant-5"}
	tenants := make([]feed.Tenant, len(names))
	calls.Keys = nil
	for number, name := range names {
		tenant := &tenants[number]
		if tenant.Key, err = d.CreateTenant(ctx, name); err != nil {
			return result, err
		}
		if tenant.Shared = number%2 == 0; tenant.Shared {
			calls.Keys = append(calls.Keys, tenant.Key)
		}
	}
	calls.Endpoints = d.Endpoints()

	running, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var all sync.WaitGroup
	var ofFaults faults.Report
	var ofFeed feed.Result
	var problems [3]error
	all.Go(func() {
		ofFaults, problems[0] = faults.Run(running, d, uint64(calls.Seed), func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) })
	})
	all.Go(func() { ofFeed, problems[1] = feed.Run(running, d, tenants, uint64(calls.Seed)) })
	all.Go(func() { problems[2] = workload.Run(running, calls, tally) })
	all.Wait()

	result.events = workload.Counts{Histories: ofFeed.Logs, Operations: ofFeed.Events, Unknown: ofFeed.Unknown,
		Falsified: ofFeed.Falsified, Rejected: ofFeed.Rejected, Violations: len(ofFeed.Violations)}
	tally.Put("events", result.events, ofFeed.Violations)
	fmt.Fprintf(w, "%d faults", ofFaults.Total())
	for _, name := range slices.Sorted(maps.Keys(ofFaults.Counts)) {
		fmt.Fprintf(w, ", %s %d", name, ofFaults.Counts[name])
	}
	fmt.Fprintln(w)
	tally.Print(w)
	missed, problem := false, error(nil)
	if ctx.Err() == nil {
		missed, problem = runPlanted(ctx, calls, w)
	}
	result.counts, result.faults = tally.Total(), ofFaults.Total()
	err = errors.Join(errors.Join(problems[:]...), problem, stop())
	result.failed = result.counts.Failed() || result.counts.Falsified == 0 || missed || err != nil
	return result, err
}
