package filestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// BenchmarkAppend appends a record of 600 bytes with a sync and without one, on the disk of the temporary directory.
func BenchmarkAppend(b *testing.B) {
	for name, noSync := range map[string]bool{"synced": false, "not synced": true} {
		b.Run(name, func(b *testing.B) {
			s := open(b, b.TempDir(), &filestore.Options{NoSync: noSync})
			d, lease := create(b, s, key)
			change := note(strings.Repeat("x", 500))
			b.ReportAllocs()
			for b.Loop() {
				add(b, s, lease, d, change)
			}
		})
	}
}

// BenchmarkSuspended writes, loads and lists 10,000 suspended runs of 8 kB: the figures of docs/durability.md.
func BenchmarkSuspended(b *testing.B) {
	const runs = 10_000
	dir := b.TempDir()
	s := open(b, dir, nil)
	id := func(i int) run.Key { return run.Key{Tenant: "acme", ID: fmt.Sprint("run_", i)} }
	start := time.Now()
	for i := range runs {
		_, lease := create(b, s, id(i), append(ledgertest.Notes(strings.Repeat("x", 500), 12), question("a"), &ledger.Suspended{})...)
		check.Must(b, s.Release(ctx, lease))
	}
	written := time.Since(start)
	var last time.Duration
	for b.Loop() {
		start := time.Now()
		for _, err := range s.List(ctx, record.Query{AllTenants: true, DueAt: start}) {
			b.Fatal("got a run that is due", err)
		}
		last = time.Since(start)
	}
	b.ReportMetric(written.Seconds(), "s/write")
	size := int64(0)
	for _, path := range check.Value(filepath.Glob(filepath.Join(dir, "*.jsonl")))(b) {
		size += check.Value(os.Stat(path))(b).Size()
	}
	b.ReportMetric(float64(size)/runs, "B/run")
	b.ReportMetric(last.Seconds()*1000, "ms/list")
	loads := make([]time.Duration, runs)
	for i := range loads {
		start := time.Now()
		check.Must(b, check.Err(s.Load(ctx, id(i*7919%runs))))
		loads[i] = time.Since(start)
	}
	slices.Sort(loads)
	b.ReportMetric(float64(loads[runs/2].Microseconds()), "µs/load-p50")
	b.ReportMetric(float64(loads[runs*99/100].Microseconds()), "µs/load-p99")
}

// BenchmarkLists lists 100,000 waiting runs, each suspended a second after the previous one.
func BenchmarkLists(b *testing.B) {
	const runs = 100_000
	dir := b.TempDir()
	s := open(b, dir, &filestore.Options{NoSync: true})
	for i := range runs {
		begun := &ledger.Begun{Tenant: fmt.Sprint("tenant_", i%100), ID: fmt.Sprint("run_", i)}
		ledgertest.Keep(b, s, ledgertest.Since(time.Now().Add((runs-time.Duration(i))*-time.Second), begun,
			question(fmt.Sprint("ask_", i)), &ledger.Suspended{Wake: time.Now().Add(time.Hour + time.Duration(i)*time.Second)}))
	}
	s = open(b, dir, nil)
	start := time.Now()
	listed(b, s, record.Query{AllTenants: true, DueAt: start})
	first := time.Since(start)
	due := func() int { return len(listed(b, s, record.Query{AllTenants: true, DueAt: time.Now()})) }
	heads := func(q record.Query) func() int { return func() int { return len(listed(b, s, q)) } }
	questions := func(q record.Query) func() int {
		return func() (n int) {
			for _, err := range record.OpenQuestions(ctx, s, q) {
				check.Must(b, err)
				n++
			}
			return n
		}
	}
	for _, c := range []struct {
		name string
		list func() int
		want int
	}{
		{"due", due, 0},
		{"running", heads(record.Query{AllTenants: true, Status: run.StatusRunning}), 0},
		{"50 that wait", heads(record.Query{AllTenants: true, Status: run.StatusWaiting, Limit: 50}), 50},
		{"50 that wait of a tenant", heads(record.Query{Tenant: "tenant_7", Status: run.StatusWaiting, Limit: 50}), 50},
		{"50 questions", questions(record.Query{AllTenants: true, Limit: 50}), 50},
		{"50 questions of a tenant", questions(record.Query{Tenant: "tenant_7", Limit: 50}), 50},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				n := c.list()
				check.Require(b, n == c.want, "got %d in the list, want %d", n, c.want)
			}
			if c.name == "due" {
				b.ReportMetric(first.Seconds(), "s/first")
			}
		})
	}
}
