package otelagent_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	"github.com/mcpchain/mcpchain/internal/check"
)

type conventions struct {
	Spans map[string]struct { // by operation
		Kind, Name string
		Attributes map[string]string // their levels
	}
	Metrics map[string]struct {
		Instrument, Unit string
		Boundaries       []float64
		Attributes       map[string]string
	}
}

func readModel(t *testing.T) (m conventions) {
	t.Helper()
	data := check.Value(os.ReadFile("testdata/conventions.yaml"))(t)
	check.Must(t, yaml.UnmarshalWithOptions(data, &m, yaml.Strict(), yaml.AllowFieldPrefixes("type")))
	return m
}

func attributes(all []attribute.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range all {
		out[string(a.Key)] = fmt.Sprint(a.Value.AsInterface())
	}
	return out
}

// beyond are attributes of the conventions that they do not name for the span.
var beyond = map[string][]string{"invoke_agent": {"gen_ai.agent.id"}}

// compare looks for attributes that are missing or unknown.
func compare(t *testing.T, about string, got map[string]string, levels map[string]string, beyond []string) {
	t.Helper()
	for name, level := range levels {
		check.That(t, level != "required" || got[name] != "", "%s lacks %s", about, name)
	}
	for name := range got {
		check.That(t, levels[name] != "" || slices.Contains(beyond, name), "%s has %s, which the conventions do not know there", about, name)
	}
}

// Spans and metrics of a run with everything have the names, kinds, units, buckets and attributes of the conventions.
func TestConventions(t *testing.T) {
	m := readModel(t)
	r := newRecorder(t, otelagent.Options{Content: true})
	options := agent.Options{Name: "boss", System: "Be brief."}
	streaming := model.Info{Name: "m", Provider: "acme"}
	helper := r.agent(t, play(uses("1", "lookup", "{}"), says("Sunny.")).WithInfo(streaming), options, fails())
	run(t, r.agent(t, play(uses("2", "helper", `{"task":"Weather?"}`), says("Sunny.")), options, sub(t, helper, "helper")))
	run(t, r.agent(t, failing(os.ErrClosed), agent.Options{}))

	seen := map[string]bool{}
	for _, s := range r.GetSpans() {
		got := attributes(s.Attributes)
		operation := got["gen_ai.operation.name"]
		want, ok := m.Spans[operation]
		if !ok {
			t.Errorf("span %q has the operation %q", s.Name, operation)
			continue
		}
		seen[operation] = true
		name := want.Name
		for key, value := range got {
			name = strings.ReplaceAll(name, "{"+key+"}", value)
		}
		name, _, _ = strings.Cut(name, " {") // what is not available
		check.That(t, s.Name == name && s.SpanKind.String() == want.Kind,
			"got the span %q of kind %s, want %q of kind %s", s.Name, s.SpanKind, name, want.Kind)
		compare(t, "span "+s.Name, got, want.Attributes, beyond[operation])
	}
	check.That(t, len(seen) == len(m.Spans), "got spans of %v, want all of the model", seen)
	measured := r.metrics(t)
	for name, want := range m.Metrics {
		got, ok := measured[name]
		if !ok {
			t.Errorf("metric %s is missing", name)
			continue
		}
		check.Equal(t, name, got.Unit, want.Unit)
		instrument, boundaries, points := shape(t, got)
		check.That(t, instrument == want.Instrument && slices.Equal(boundaries, want.Boundaries),
			"metric %s is a %s with the boundaries %v, want a %s with %v", name, instrument, boundaries, want.Instrument, want.Boundaries)
		for _, p := range points {
			compare(t, "metric "+name, p, want.Attributes, nil)
		}
	}
	for name := range measured {
		_, ok := m.Metrics[name]
		check.That(t, ok || strings.HasPrefix(name, "mcpchain."), "metric %s is not in the model", name)
	}
}

// shape is the kind of a metric, its boundaries, and the attributes of its points.
func shape(t *testing.T, m metricdata.Metrics) (instrument string, boundaries []float64, points []map[string]string) {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		if !data.IsMonotonic {
			return "up-down counter", nil, nil
		}
		for _, p := range data.DataPoints {
			points = append(points, attributes(p.Attributes.ToSlice()))
		}
		return "counter", nil, points
	case metricdata.Histogram[int64]:
		for _, p := range data.DataPoints {
			boundaries, points = p.Bounds, append(points, attributes(p.Attributes.ToSlice()))
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			boundaries, points = p.Bounds, append(points, attributes(p.Attributes.ToSlice()))
		}
	default:
		t.Fatalf("metric %s has the data %T", m.Name, m.Data)
	}
	return "histogram", boundaries, points
}

// A duration that is measured is the duration of its span.
func TestDurations(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	run(t, r.agent(t, play(uses("1", "lookup", "{}"), says("No.")), agent.Options{}, fails()))
	spans, want := map[string]float64{}, map[string]float64{}
	for _, s := range r.GetSpans() {
		operation, _, _ := strings.Cut(s.Name, " ")
		spans[operation] += s.EndTime.Sub(s.StartTime).Seconds()
	}
	got := map[string]float64{}
	for operation, name := range map[string]string{
		"chat": "gen_ai.client.inference.duration", "invoke_agent": "gen_ai.invoke_agent.duration", "execute_tool": "gen_ai.execute_tool.duration",
	} {
		data, _ := r.metrics(t)[name].Data.(metricdata.Histogram[float64])
		for _, p := range data.DataPoints {
			got[operation] += p.Sum
		}
		want[operation] = spans[operation]
	}
	near := cmp.Comparer(func(x, y float64) bool { return fmt.Sprintf("%.6f", x) == fmt.Sprintf("%.6f", y) })
	check.Same(t, "durations", got, want, near)
}
