package faults

import (
	"context"
	"errors"
	"time"

	"github.com/authwire/authwire/test/proofs/deployment"
)

const second = time.Second

// ofReplicas returns the faults of one replica: of its process, its clock, and its connections.
func ofReplicas(d *deployment.Deployment) []kind {
	of := func(name string, inject func(*run, int, *deployment.Replica) error) kind {
		return kind{name, func(r *run) error {
			index := r.IntN(len(d.Replicas))
			return inject(r, index+1, d.Replicas[index])
		}}
	}
	clients := func(replica *deployment.Replica) []*deployment.Proxy { return []*deployment.Proxy{replica.Clients} }
	database := func(replica *deployment.Replica) []*deployment.Proxy { return replica.Database }
	kinds := []kind{
		of("replica killed", func(r *run, number int, replica *deployment.Replica) error {
			err := replica.Kill()
			r.say("number %d", number)
			r.wait(0, 3*second)
			return errors.Join(err, r.undo(replica.Start))
		}),
		of("replica frozen", func(r *run, number int, replica *deployment.Replica) error {
			return r.freeze(replica.Process, "number %d", number)
		}),
		of("clock stepped", func(r *run, number int, replica *deployment.Replica) error {
			ahead := 15 * time.Minute
			if r.IntN(3) == 0 {
				ahead = -ahead
			}
			r.say("number %d by %v, to and fro", number, ahead)
			// Many times, because a step does harm only while something is timed.
			for end := time.Now().Add(r.between(2*second, 6*second)); ; r.wait(second/10, second) {
				if err := replica.SetClock(ahead); err != nil {
					return err
				}
				r.wait(second/10, second)
				if err := replica.SetClock(0); err != nil || r.Err() != nil || time.Now().After(end) {
					return err
				}
			}
		}),
		of("clients cut off", connections(clients)),
	}
	if d.Engine != "sqlite" {
		kinds = append(kinds, of("database cut off", connections(database)))
	}
	return kinds
}

// connections returns faults of the connections of a replica to its clients, or to its database.
func connections(of func(*deployment.Replica) []*deployment.Proxy) func(*run, int, *deployment.Replica) error {
	return func(r *run, number int, replica *deployment.Replica) error {
		each := func(do func(*deployment.Proxy)) {
			for _, proxy := range of(replica) {
				do(proxy)
			}
		}
		switch r.IntN(3) {
		case 0:
			each((*deployment.Proxy).Cut)
			r.say("connections of number %d cut", number)
		case 1:
			each((*deployment.Proxy).Hold)
			r.say("connections of number %d held", number)
			r.wait(second, 8*second)
		case 2:
			r.say("answers of number %d lost, again and again", number)
			for end := time.Now().Add(r.between(second, 4*second)); time.Now().Before(end) && r.Err() == nil; {
				// What is requested meanwhile is done, but its answer is lost.
				each((*deployment.Proxy).HoldAnswers)
				r.wait(second/20, second/4)
				each((*deployment.Proxy).Cut)
				each((*deployment.Proxy).Release)
				r.wait(second/10, second/2)
			}
		}
		// Connections that were held continue, or are lost.
		if r.IntN(2) == 0 {
			each((*deployment.Proxy).Cut)
		}
		each((*deployment.Proxy).Release)
		return nil
	}
}

// ofDatabase returns the faults of the database server, or of the group. None if it is neither this run's, nor a group.
func ofDatabase(d *deployment.Deployment) []kind {
	if server := d.Database.Server; server != nil {
		kill := kind{"database killed", func(r *run) error {
			err := server.Kill()
			r.say("and started again")
			r.wait(0, 3*second)
			return errors.Join(err, r.undo(server.Start))
		}}
		return []kind{kill, kill, {"database frozen", func(r *run) error { return r.freeze(server, "its process") }}}
	}
	group := d.Database.Group
	if group == nil {
		return nil
	}
	if d.Engine == "vitess" {
		return []kind{{"database killed", func(r *run) error {
			// Between two of them vtgate takes seconds to see that it is back.
			r.wait(5*second, 15*second)
			return r.undo(func(ctx context.Context) error {
				err := group.KillServer(ctx)
				r.say("and started again")
				r.wait(0, 6*second)
				return errors.Join(err, group.RestartServer(ctx))
			})
		}}}
	}
	return []kind{
		{"primary killed", func(r *run) error {
			// Not cancelled by the end of the run, because a member that is killed must join again.
			return r.undo(func(ctx context.Context) error {
				member, err := group.KillPrimary(ctx)
				if err != nil {
					return err
				}
				r.say("member %d", member)
				r.wait(6*second, 10*second)
				return group.Rejoin(ctx, member)
			})
		}},
		{"primary switched", func(r *run) error {
			return r.undo(func(ctx context.Context) error {
				member, err := group.SwitchPrimary(ctx)
				r.say("to member %d", member)
				return err
			})
		}},
	}
}

func (r *run) freeze(process *deployment.Process, format string, args ...any) error {
	err := process.Freeze()
	r.say(format, args...)
	r.wait(second, 8*second)
	return errors.Join(err, process.Thaw())
}
