package faults

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/authwire/authwire/test/proofs/deployment"
)

func TestEachFaultOfAReplicaIsUndone(t *testing.T) {
	d, err := deployment.Start(t.Context(), deployment.Options{Engine: "sqlite", Root: "../../.."})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	// A run that is over does not wait before it undoes a fault.
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for seed := range uint64(2) {
		injected := 0
		r := &run{Context: over, Rand: rand.New(rand.NewPCG(seed, 0)), note: func(string, string, ...any) { injected++ }}
		kinds := ofReplicas(d)
		for _, kind := range kinds {
			if err := kind.inject(r); err != nil {
				t.Fatalf("%s: %v", kind.name, err)
			}
			if err := recovered(t.Context(), d); err != nil {
				t.Fatalf("%s: %v", kind.name, err)
			}
		}
		if injected != len(kinds) {
			t.Error("some faults were not logged")
		}
	}
	if exits := d.Exits(); len(exits) > 0 {
		t.Error(exits)
	}
}
