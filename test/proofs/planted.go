package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/authwire/authwire/test/proofs/planted"
	"github.com/authwire/authwire/test/proofs/workload"
)

// plantedHistories is how many histories are made with each planted fault. Some of them must be rejected.
const plantedHistories = 40

// plantedTime ends the wait for a service that does not answer. The histories take seconds.
const plantedTime = 2 * time.Minute

// runPlanted makes histories with planted faults. It returns whether one of the faults was not found.
func runPlanted(ctx context.Context, options workload.Options, w io.Writer) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, plantedTime)
	defer cancel()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "planted fault\thistories\trejected")
	missed := false
	// One replica stands for two, if there is only one.
	if len(options.Endpoints) == 1 {
		options.Endpoints = append(options.Endpoints, options.Endpoints[0])
	}
	// The callers of one history at a time, so that its last calls run alone.
	options.Clients, options.Histories = 4, plantedHistories
	for _, one := range []struct {
		name     string
		fault    planted.Fault
		workload workload.Workload
	}{
		{"a token is read and deleted in two steps", planted.TokenReadThenDeleted(), workload.Tokens},
		{"a revocation skips a replica", planted.RevocationSkipsReplica(), workload.Sessions},
	} {
		tally := &workload.Tally{}
		options.Fault, options.Workloads = one.fault, []workload.Workload{one.workload}
		options.Name += "f"
		if err := workload.Run(ctx, options, tally); err != nil {
			return true, err
		}
		counts := tally.Total()
		fmt.Fprintf(table, "%s\t%d\t%d\n", one.name, counts.Histories, counts.Violations)
		missed = missed || counts.Violations == 0 || counts.Undecided+counts.Unexpected > 0
	}
	return missed, nil
}
