package feed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"

	"github.com/authwire/authwire/test/proofs/deployment"
)

const (
	writersOfTenant = 3
	// replaysOfTenant is how many times the feed is read again, each time from another position.
	replaysOfTenant = 4
	// lastTimeout limits how long after the end of the writes every watcher has received everything.
	lastTimeout = 2 * time.Minute
)

// Tenant is one whose feed is watched.
type Tenant struct {
	// Key is an API key of the tenant.
	Key string
	// Shared says that others write in the tenant too. Otherwise writers of this package do.
	Shared bool
}

// Result is what the watchers of a run have shown.
type Result struct {
	// Logs is the number of logs of watchers and replays, Events that of the events in them, and Unknown that of the writes
	// whose answer was lost.
	Logs, Events, Unknown int
	// Falsified is the number of logs that were changed, and Rejected how many of these were rejected. All must be.
	Falsified, Rejected int
	Violations          []string
}

// Run watches the feeds of tenants, each with a watcher at every replica and one that goes from one replica to the next,
// and writes, until the context ends. Then it waits until every watcher has received everything, reads parts of the feeds
// again, and checks all. The error says what prevented that.
func Run(ctx context.Context, d *deployment.Deployment, tenants []Tenant, seed uint64) (Result, error) {
	var result Result
	var failures error
	var mu sync.Mutex
	var all sync.WaitGroup
	for number, tenant := range tenants {
		all.Go(func() {
			f := &feed{tenant: tenant, endpoints: d.Endpoints(), name: fmt.Sprintf("tenant %d", number+1),
				random: rand.New(rand.NewPCG(seed, uint64(number))), writes: &writes{begun: time.Now(), byKey: map[string]Write{}}}
			err := f.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			failures = errors.Join(failures, err)
			result.add(f)
		})
	}
	all.Wait()
	return result, failures
}

// add checks the feed of a tenant, and once more with changed logs.
func (r *Result) add(f *feed) {
	for _, err := range f.writes.unexpected {
		r.Violations = append(r.Violations, err.Error())
	}
	for _, write := range f.writes.byKey {
		if !write.Acknowledged {
			r.Unknown++
		}
	}
	for _, log := range f.logs {
		r.Logs++
		r.Events += len(log.Events)
	}
	// Logs that have no end are not compared.
	if r.Violations = append(r.Violations, f.stuck...); len(f.stuck) > 0 || len(f.logs) == 0 {
		return
	}
	for _, violation := range Check(f.logs, f.writes.byKey, !f.tenant.Shared) {
		r.Violations = append(r.Violations, f.name+": "+violation)
	}
	for _, changed := range falsified(f.logs, f.writes.byKey, f.random.IntN) {
		r.Falsified++
		if len(Check(changed, f.writes.byKey, !f.tenant.Shared)) > 0 {
			r.Rejected++
		}
	}
}

// feed is that of one tenant.
type feed struct {
	tenant    Tenant
	name      string
	endpoints []string
	random    *rand.Rand
	writes    *writes
	logs      []Log
	stuck     []string // what the watchers say that have not received everything
}

func (f *feed) run(ctx context.Context) error {
	replicas, err := connect(f.endpoints, f.tenant.Key)
	defer replicas.close()
	if err != nil {
		return err
	}
	id := fmt.Sprintf("last-%016x", f.random.Uint64())
	last := keyOf(authwirev1.EventKind_EVENT_KIND_USER_CREATED, id)
	// Everything ends, whatever happens.
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()

	// All watchers begin where the first one does.
	began := make(chan string, 1)
	watchers := []*watcher{{replicas: replicas, began: func(cursor string) { began <- cursor }}}
	following := f.follow(watching, last, watchers)
	select {
	case cursor := <-began:
		for number := range replicas[1:] {
			watchers = append(watchers, &watcher{replicas: replicas, cursor: cursor, replica: number + 1})
		}
		watchers = append(watchers, &watcher{replicas: replicas, cursor: cursor, roams: true})
	case <-ctx.Done():
		return fmt.Errorf("%s: no watcher got a response", f.name)
	}
	others := f.follow(watching, last, watchers[1:])

	f.write(ctx, replicas)
	finish := time.AfterFunc(lastTimeout, cancel)
	defer finish.Stop()
	writer := &writer{f.writes, f.random, replicas}
	if err := writer.mark(watching, id); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	following.Wait()
	others.Wait()
	f.collect(watchers)
	if len(f.stuck) > 0 {
		return nil
	}
	var replays []*watcher
	complete := watchers[0].cursors
	for number := range min(replaysOfTenant, len(complete)-1) {
		from := f.random.IntN(len(complete) - 1)
		replays = append(replays, &watcher{replicas: replicas, cursor: complete[from], replica: number, log: Log{From: from + 1}})
	}
	f.follow(watching, last, replays).Wait()
	f.collect(replays)
	return nil
}

func (f *feed) collect(watchers []*watcher) {
	for _, watcher := range watchers {
		f.logs = append(f.logs, watcher.log)
		if watcher.failed != nil {
			f.stuck = append(f.stuck, fmt.Sprintf("%s: %v", f.name, watcher.failed))
		}
	}
}

// follow starts watchers. Each ends when it has received the last event.
func (f *feed) follow(ctx context.Context, last string, watchers []*watcher) *sync.WaitGroup {
	var following sync.WaitGroup
	for _, watcher := range watchers {
		watcher.last = last
		watcher.log.Watcher = fmt.Sprintf("a watcher at replica %d, from %d", watcher.replica%len(f.endpoints)+1, watcher.log.From)
		if watcher.roams {
			watcher.log.Watcher = "a watcher at one replica after the other"
		}
		random := rand.New(rand.NewPCG(f.random.Uint64(), 0))
		following.Go(func() { watcher.follow(ctx, random) })
	}
	return &following
}

// write makes writes until the context ends.
func (f *feed) write(ctx context.Context, replicas replicas) {
	if f.tenant.Shared {
		<-ctx.Done()
		return
	}
	var writing sync.WaitGroup
	for number := range writersOfTenant {
		writer := &writer{f.writes, rand.New(rand.NewPCG(f.random.Uint64(), 0)), replicas}
		writing.Go(func() {
			for user := 0; ctx.Err() == nil; user++ {
				writer.user(ctx, fmt.Sprintf("feed-%d-%d", number, user))
			}
		})
	}
	writing.Wait()
}
