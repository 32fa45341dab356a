package otelagent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	runs "github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

type damagedStore struct{ record.Store }

func (d damagedStore) List(ctx context.Context, q record.Query) iter.Seq2[runs.Head, error] {
	return func(yield func(runs.Head, error) bool) {
		for head, err := range d.Store.List(ctx, q) {
			if !yield(head, err) {
				return
			}
		}
		for i, id := range []string{"bad", "", ""} { // two do not say whose runs they are
			key := runs.Key{ID: id}
			if !yield(runs.Head{Key: key}, fmt.Errorf("file %d: %w", i, record.ErrDamaged)) {
				return
			}
		}
	}
}

// keeper returns a function that creates a run whose lease lasts for ttl.
func keeper(t *testing.T, store record.Store) func(id string, ttl time.Duration, changes ...ledger.Change) {
	return func(id string, ttl time.Duration, changes ...ledger.Change) {
		t.Helper()
		d := ledgertest.Since(time.Now(), &ledger.Begun{ID: id}, changes...)
		check.Must(t, check.Err(store.Create(t.Context(), record.Holder{TTL: ttl}, d.Head(), d.Records)))
	}
}

// TestObserveStore measures the runs of a store by their heads.
func TestObserveStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		keep := keeper(t, store)
		keep("works", time.Hour)
		keep("left", 0, &ledger.Noted{Taken: true}, &ledger.Noted{Taken: true})
		keep("waits", 0, &ledger.Suspended{})
		keep("sleeps", 0, &ledger.Suspended{Wake: time.Now().Add(10 * time.Second)})
		keep("parked", 0, &ledger.Noted{Taken: true}, &ledger.Ended{Status: runs.StatusFailed, Stop: record.StopParked})
		keep("failed", 0, &ledger.Ended{Status: runs.StatusFailed})
		keep("done", 0, &ledger.Ended{Status: runs.StatusFinished})
		time.Sleep(30 * time.Second)
		reader := sdkmetric.NewManualReader()
		stop, err := otelagent.ObserveStore(damagedStore{store}, record.Query{AllTenants: true}, &otelagent.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		check.Must(t, err)
		got := gauges(t, reader)
		want := "mcpchain.runs running 2, mcpchain.runs waiting 2, mcpchain.runs failed 2, mcpchain.runs.due 2, mcpchain.runs.held 1, mcpchain.runs.parked 1, mcpchain.runs.takeovers 2, mcpchain.runs.damaged 3, mcpchain.runs.lag 30"
		for _, one := range strings.Split(want, ", ") {
			check.That(t, got[one], "got %v, want %s", got, one)
		}
		check.Must(t, stop())
		check.Equal(t, "gauges after the end", len(gauges(t, reader)), 0)
	})
}

// The time before a reply, and before the end of a lease, is no lag.
func TestLagOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		keep := keeper(t, store)
		keep("works", time.Hour)
		keep("waits", 0, &ledger.Opened{Question: runs.Question{ID: "q", Kind: runs.QuestionForm, Survives: true}}, &ledger.Suspended{})
		reader := sdkmetric.NewManualReader()
		check.Must(t, check.Err(otelagent.ObserveStore(store, record.Query{}, &otelagent.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})))
		lag := func(want int) {
			t.Helper()
			name := fmt.Sprint("mcpchain.runs.lag ", want)
			got := gauges(t, reader)
			check.That(t, got[name], "got %v, want %s", got, name)
		}
		time.Sleep(30 * time.Minute)
		lag(0)
		check.Must(t, store.Reply(t.Context(), runs.Key{ID: "waits"}, []runs.Reply{{Question: "q", Action: runs.ActionDecline}}))
		lag(0)
		time.Sleep(time.Minute)
		lag(60)
		check.Must(t, store.Delete(t.Context(), runs.Key{ID: "waits"}))
		time.Sleep(30 * time.Minute)
		lag(60)
	})
}

func gauges(t *testing.T, reader *sdkmetric.ManualReader) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	for name, m := range measured(t, reader) {
		switch data := m.Data.(type) {
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				status, _ := p.Attributes.Value("mcpchain.run.status")
				got[strings.Join(strings.Fields(fmt.Sprint(name, " ", status.AsString(), " ", p.Value)), " ")] = true
			}
		case metricdata.Gauge[float64]:
			got[fmt.Sprint(name, " ", data.DataPoints[0].Value)] = true
		}
	}
	return got
}

// TestAppendsAreMeasured measures how long a store takes to keep what a run records.
func TestAppendsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		telemetry := check.Value(otelagent.New(&otelagent.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}))(t)
		appends := 0
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			if c.Method == "append" {
				if appends++; appends == 2 {
					return record.ErrTooLarge
				}
				time.Sleep(30 * time.Millisecond)
			}
			return c.Do()
		})
		a, err := agent.New(agenttest.Play(agenttest.Say("hi")), &agent.Options{Name: "helper", Durable: agent.Durable{Store: store}, Observer: telemetry})
		check.Must(t, err)
		for range 2 {
			_, _ = a.Run(t.Context(), agent.Text("hello"))
		}
		got := map[string]string{}
		for _, p := range measured(t, reader)["mcpchain.runs.append.duration"].Data.(metricdata.Histogram[float64]).DataPoints {
			got[attributes(p.Attributes.ToSlice())["error.type"]] = fmt.Sprint(p.Count, " in ", p.Sum)
		}
		check.Same(t, "appends", got, map[string]string{"": "3 in 0.09", "_OTHER": "1 in 0"})
	})
}
