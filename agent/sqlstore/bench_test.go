//go:build unix

package sqlstore_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func benchmarks(b *testing.B, bench func(b *testing.B, store record.Store)) {
	for _, d := range []struct {
		name  string
		job   func(testing.TB) job
		bytes string
	}{
		{"SQLite", inSQLite, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"},
		{"Postgres", inPostgres, `SELECT pg_total_relation_size('mcpchain_runs') + pg_total_relation_size('mcpchain_records')`},
	} {
		b.Run(d.name, func(b *testing.B) {
			store, db := d.job(b).open(b)
			b.ReportAllocs()
			bench(b, store)
			var bytes int64
			check.Must(b, db.QueryRowContext(b.Context(), d.bytes).Scan(&bytes))
			b.ReportMetric(float64(bytes)/1e6, "MB")
		})
	}
}

// BenchmarkAppend appends three records of 200 bytes.
func BenchmarkAppend(b *testing.B) {
	benchmarks(b, func(b *testing.B, store record.Store) {
		d, lease := create(b, store, key)
		cpu := cpuTime(b)
		for b.Loop() {
			check.Must(b, d.Append(b.Context(), store, lease, notes(strings.Repeat("x", 100), 3)...))
		}
		b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/op")
	})
}

// BenchmarkAppendOfManyRuns appends to 1,000 runs at once.
func BenchmarkAppendOfManyRuns(b *testing.B) {
	benchmarks(b, func(b *testing.B, store record.Store) {
		const runs, each = 1000, 10
		drafts, leases := make([]*ledgertest.Draft, runs), make([]record.Lease, runs)
		for i := range runs {
			drafts[i], leases[i] = create(b, store, run.Key{ID: fmt.Sprint(i)})
		}
		n := 0
		cpu := cpuTime(b)
		for b.Loop() {
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() {
					for range each {
						check.NoError(b, drafts[i].Append(b.Context(), store, leases[i], notes(strings.Repeat("x", 100), 3)...))
					}
				})
			}
			wg.Wait()
			n += runs * each
		}
		b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(n), "cpu-µs/append")
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "appends/s")
	})
}

// BenchmarkSuspended stores 10,000 runs of 8 kB, and loads them.
func BenchmarkSuspended(b *testing.B) {
	benchmarks(b, func(b *testing.B, store record.Store) {
		const runs = 10_000
		began := time.Now()
		var wg sync.WaitGroup
		for part := range 8 {
			wg.Go(func() {
				for i := part; i < runs; i += 8 {
					create(b, store, run.Key{ID: fmt.Sprint(i)}, append(notes(strings.Repeat("x", 700), 10), &ledger.Suspended{})...) // 8 kB
				}
			})
		}
		wg.Wait()
		written := time.Since(began)
		i, times := 0, []time.Duration{}
		cpu := cpuTime(b)
		for b.Loop() {
			began := time.Now()
			check.Must(b, check.Err(store.Load(b.Context(), run.Key{ID: fmt.Sprint(i * 7919 % runs)})))
			times = append(times, time.Since(began))
			i++
		}
		b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(i), "cpu-µs/op")
		slices.Sort(times)
		b.ReportMetric(written.Seconds(), "s-to-write")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "µs-p99")
	})
}

// BenchmarkLists lists 100,000 runs that wait for a reply.
func BenchmarkLists(b *testing.B) {
	benchmarks(b, func(b *testing.B, store record.Store) {
		const runs, parts = 100_000, 64
		var wg sync.WaitGroup
		for part := range parts {
			wg.Go(func() {
				for i := part; i < runs; i += parts {
					d := ledgertest.New(run.Key{Tenant: fmt.Sprint("tenant_", i%100), ID: fmt.Sprint("run_", i)}, notes(strings.Repeat("x", 300), i%16)...)
					d.Add(ledgertest.Question(fmt.Sprint("ask_", i)), &ledger.Suspended{})
					check.NoError(b, check.Err(store.Create(b.Context(), record.Holder{}, d.Head(), d.Records)))
				}
			})
		}
		wg.Wait()
		heads := func(q record.Query) func() int { return func() int { return count(b, store.List(b.Context(), q)) } }
		questions := func(q record.Query) func() int {
			return func() int { return count(b, record.OpenQuestions(b.Context(), store, q)) }
		}
		for _, c := range []struct {
			name string
			list func() int
			want int
		}{
			{"due", heads(record.Query{AllTenants: true, DueAt: time.Now()}), 0},
			{"done", heads(record.Query{AllTenants: true, Status: run.StatusFinished, Limit: 50}), 0},
			{"50 newest", heads(record.Query{AllTenants: true, Limit: 50}), 50},
			{"50 questions", questions(record.Query{AllTenants: true, Limit: 50}), 50},
			{"50 questions of a tenant", questions(record.Query{Tenant: "tenant_7", Limit: 50}), 50},
		} {
			b.Run(c.name, func(b *testing.B) {
				for b.Loop() {
					n := c.list()
					check.Require(b, n == c.want, "got %d in the list, want %d", n, c.want)
				}
			})
		}
	})
}

func count[T any](b *testing.B, list iter.Seq2[T, error]) (n int) {
	b.Helper()
	for _, err := range list {
		check.Must(b, err)
		n++
	}
	return n
}

// cpuTime returns the processor time of this process, without the server.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	check.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
