package deployment

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// joinTimeout limits how long a member may take until it has joined its group again.
const joinTimeout = 2 * time.Minute

// Group is a replication group of MySQL that somebody else has started, or the server below a vtgate. A command kills its members and
// starts them.
type Group struct {
	command  string // such as "cluster {action} {n}"
	database *Database
}

// KillPrimary kills the member that accepts writes. Rejoin starts it again.
func (g *Group) KillPrimary(ctx context.Context) (member int, err error) {
	member, err = g.primary(ctx)
	if err != nil {
		return 0, err
	}
	return member, g.run(ctx, "kill", member)
}

// KillServer kills the server below a vtgate. RestartServer starts it again.
func (g *Group) KillServer(ctx context.Context) error { return g.run(ctx, "kill", 1) }

// RestartServer starts the server below a vtgate again, on its data.
func (g *Group) RestartServer(ctx context.Context) error { return g.run(ctx, "restart", 1) }

// Rejoin starts a member, and waits until it is online in its group. It tries again, because a group does not accept a
// member before it has noticed that the member was gone.
func (g *Group) Rejoin(ctx context.Context, member int) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	err := g.run(ctx, "rejoin", member)
	for {
		state := ""
		if err == nil {
			err = g.database.run(ctx, g.database.hosts[member-1], "", `SELECT member_state
				FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid`, &state)
		}
		switch {
		case err == nil && state == "ONLINE":
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("member %d has not joined its group again (%q): %w", member, state, err)
		case err != nil || state == "ERROR" || state == "OFFLINE":
			err = g.run(ctx, "rejoin", member)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// SwitchPrimary makes another member the primary, as before a planned stop.
func (g *Group) SwitchPrimary(ctx context.Context) (member int, err error) {
	primary, err := g.primary(ctx)
	if err != nil {
		return 0, err
	}
	member = primary%len(g.database.hosts) + 1
	return member, g.database.run(ctx, g.database.hosts[member-1], "",
		"SELECT group_replication_set_as_primary(@@server_uuid)", new(string))
}

// primary returns the number of the member that accepts writes, counted from 1.
func (g *Group) primary(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		for index, host := range g.database.hosts {
			role := ""
			err := g.database.run(ctx, host, "", `SELECT member_role FROM performance_schema.replication_group_members
				WHERE member_id = @@server_uuid AND member_state = 'ONLINE'`, &role)
			if err == nil && role == "PRIMARY" {
				return index + 1, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the group has no primary: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (g *Group) run(ctx context.Context, action string, member int) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	words := strings.Fields(strings.NewReplacer("{action}", action, "{n}", strconv.Itoa(member)).Replace(g.command))
	if output, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, output)
	}
	return nil
}
