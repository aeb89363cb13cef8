package workload

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"text/tabwriter"

	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// Counts are the figures of one model.
type Counts struct {
	Histories, Operations, Unknown, Refused int
	// Falsified is the number of histories that were checked with a false answer too, and Rejected how many of these were
	// rejected. All must be.
	Falsified, Rejected int
	// Violations is the number of histories that no order of their calls explains, and Undecided that of those whose check
	// took too long. Unexpected is the number of errors that no model allows.
	Violations, Undecided, Unexpected int
}

// Failed returns whether something is not as it was promised.
func (c Counts) Failed() bool {
	return c.Violations+c.Undecided+c.Unexpected > 0 || c.Falsified != c.Rejected
}

// Tally checks histories, and counts.
type Tally struct {
	// Folder gets a page for each history with a violation. Empty: there are no pages.
	Folder string

	mutex  sync.Mutex
	begun  int
	names  []string
	counts map[string]*Counts
	notes  []string
}

// Begin returns whether a further history may begin. With a limit of 0 it may.
func (t *Tally) Begin(limit int) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.begun++
	return limit == 0 || t.begun <= limit
}

// Add checks a history, and once more with a false answer.
func (t *Tally) Add(model models.Model, recorder *history.Recorder, pick func(int) int, id string) error {
	operations := recorder.Complete()
	result := model.Check(operations)
	falsified := model.Falsified(operations, pick)
	rejected := falsified != nil && model.Check(falsified) == porcupine.Illegal
	var page string
	var failed error
	if t.Folder != "" && (result == porcupine.Illegal || falsified != nil && !rejected) {
		page = filepath.Join(t.Folder, id+".html")
		shown := operations
		if result != porcupine.Illegal {
			shown = falsified
		}
		failed = errors.Join(os.MkdirAll(t.Folder, 0o755), model.Draw(shown, page))
	}

	t.mutex.Lock()
	defer t.mutex.Unlock()
	counts := t.of(model.Name)
	counts.Histories++
	counts.Operations += len(operations)
	counts.Unknown += recorder.Unknown
	counts.Refused += recorder.Refused
	counts.Unexpected += len(recorder.Unexpected)
	for _, err := range recorder.Unexpected {
		t.note("%s: unexpected error in %s: %v", model.Name, id, err)
	}
	if falsified != nil {
		counts.Falsified++
	}
	if rejected {
		counts.Rejected++
	} else if falsified != nil {
		t.note("%s: a falsified history was accepted, see %s", model.Name, page)
	}
	switch result {
	case porcupine.Illegal:
		counts.Violations++
		t.note("%s: a violation, see %s", model.Name, page)
	case porcupine.Unknown:
		counts.Undecided++
		t.note("%s: the check of %s took too long", model.Name, id)
	}
	return failed
}

// Put adds the figures of a model that porcupine does not check, and what is to be said of it.
func (t *Tally) Put(name string, counts Counts, notes []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	*t.of(name) = counts
	for _, note := range notes {
		t.note("%s: %s", name, note)
	}
}

// note keeps a line for the report, up to a limit.
func (t *Tally) note(format string, values ...any) {
	if len(t.notes) < 50 {
		t.notes = append(t.notes, fmt.Sprintf(format, values...))
	}
}

func (t *Tally) of(name string) *Counts {
	if t.counts == nil {
		t.counts = map[string]*Counts{}
	}
	if t.counts[name] == nil {
		t.counts[name] = &Counts{}
		t.names = append(t.names, name)
	}
	return t.counts[name]
}

// Total returns the sum of all models.
func (t *Tally) Total() (sum Counts) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, c := range t.counts {
		sum = Counts{
			sum.Histories + c.Histories, sum.Operations + c.Operations, sum.Unknown + c.Unknown, sum.Refused + c.Refused,
			sum.Falsified + c.Falsified, sum.Rejected + c.Rejected,
			sum.Violations + c.Violations, sum.Undecided + c.Undecided, sum.Unexpected + c.Unexpected,
		}
	}
	return sum
}

// Print writes a table with a line per model, and what was noted.
func (t *Tally) Print(w io.Writer) {
	total := t.Total()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "model\thistories\toperations\tunknown\trefused\tfalsified\trejected\tundecided\tunexpected\tviolations\t")
	line := func(name string, c Counts) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, c.Histories, c.Operations, c.Unknown, c.Refused,
			c.Falsified, c.Rejected, c.Undecided, c.Unexpected, c.Violations)
	}
	for _, name := range t.names {
		line(name, *t.counts[name])
	}
	line("all", total)
	table.Flush()
	for _, note := range t.notes {
		fmt.Fprintln(w, note)
	}
}
