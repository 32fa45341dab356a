package otelagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	runs "github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// parts are the members that a part of content has by its type; all are strings, and response and parameters any JSON.
var parts = map[string][]string{
	"text": {"content"}, "reasoning": {"content"}, "blob": {"modality", "content"}, "uri": {"modality", "uri"},
	"tool_call": {"name"}, "tool_call_response": {"response"}, "function": {"name"},
	"omitted": {"modality"}, // of this package: a type of its own may have any members
}

// published returns a JSON Schema of the conventions from the folder in GENAI_SCHEMAS, a copy of their model/gen-ai, or
// of docs/gen-ai of version 1.41. It is nil if no folder is named or the conventions have none. Their parts of any type
// are for types only that no other part has, and a schema in them is any object.
func published(t *testing.T, attribute string) *schema.Schema {
	t.Helper()
	dir := os.Getenv("GENAI_SCHEMAS")
	if dir == "" || strings.HasPrefix(attribute, "gen_ai.tool.call.") {
		return nil
	}
	name := strings.NewReplacer(".", "-", "_", "-").Replace(strings.TrimPrefix(attribute, "gen_ai."))
	data := check.Value(os.ReadFile(filepath.Join(dir, "gen-ai-"+name+".json")))(t)
	data = bytes.ReplaceAll(data, []byte(`"$ref": "http://json-schema.org/draft-07/schema#"`), []byte(`"type": ["object", "boolean"]`))
	var document map[string]any
	check.Must(t, json.Unmarshal(data, &document))
	var known []any
	var open []map[string]any
	for _, def := range document["$defs"].(map[string]any) {
		properties, _ := def.(map[string]any)["properties"].(map[string]any)
		switch kind, _ := properties["type"].(map[string]any); {
		case kind["const"] != nil:
			known = append(known, kind["const"])
		case kind != nil:
			open = append(open, kind)
		}
	}
	for _, kind := range open {
		kind["not"] = map[string]any{"enum": known}
	}
	data = check.Value(json.Marshal(document))(t)
	return check.Value(schema.Compile(data))(t)
}

// checkParts checks that parts have the members of their types.
func checkParts(t *testing.T, about string, all []map[string]json.RawMessage) {
	t.Helper()
	for _, p := range all {
		var kind string
		_ = json.Unmarshal(p["type"], &kind)
		members, ok := parts[kind]
		check.That(t, ok, "%s has a part of type %q", about, kind)
		for _, name := range members {
			v := string(p[name])
			check.That(t, v != "" && (v[0] == '"' || name == "response"), "%s has a part of type %q whose %s is %q", about, kind, name, v)
		}
	}
}

// valid checks the content of all spans, and counts it by attribute.
func valid(t *testing.T, r *recorder) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, s := range r.GetSpans() {
		for key, value := range attributes(s.Attributes) {
			about := fmt.Sprintf("span %q: %s", s.Name, key)
			switch key {
			case "gen_ai.tool.call.arguments", "gen_ai.tool.call.result":
				var object map[string]any
				check.NoError(t, json.Unmarshal([]byte(value), &object), about, value)
			case "gen_ai.input.messages", "gen_ai.output.messages":
				var all []struct {
					Role  string
					Parts []map[string]json.RawMessage
				}
				check.NoError(t, json.Unmarshal([]byte(value), &all), about, value)
				for _, m := range all {
					check.That(t, slices.Contains([]string{"system", "user", "assistant", "tool"}, m.Role) && m.Parts != nil,
						"%s has a message of %q with the parts %v", about, m.Role, m.Parts)
					checkParts(t, about, m.Parts)
				}
			case "gen_ai.system_instructions", "gen_ai.tool.definitions":
				var all []map[string]json.RawMessage
				check.NoError(t, json.Unmarshal([]byte(value), &all), about, value)
				checkParts(t, about, all)
			default:
				continue
			}
			counts[key]++
			if s := published(t, key); s != nil {
				check.NoError(t, s.Validate([]byte(value)), about, value)
			}
		}
	}
	return counts
}

// The content of a run has the form of the conventions.
func TestContent(t *testing.T) {
	r := newRecorder(t, otelagent.Options{Content: true})
	thinks := func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		reply, err := uses("1", "lookup", `{"day":"today"}`)(ctx, p)
		reply.Message.Parts = append([]runs.Part{{Type: runs.PartReasoning, Text: "hm <b>"}, {Type: runs.PartText, Text: "Let me see."}}, reply.Message.Parts...)
		return reply, err
	}
	lookup := adapter.Func("lookup", "Looks up.", func(_ context.Context, in struct {
		Day string `json:"day"`
	}) (string, error) {
		return "Sunny " + in.Day, nil
	}, nil)
	a := r.agent(t, play(thinks, says("Sunny.")), agent.Options{System: "Be brief."}, lookup)
	input := []runs.Message{{Role: runs.RoleUser, Parts: []runs.Part{
		{Type: runs.PartText, Text: "Weather?"}, {Type: runs.PartImage, MIMEType: "image/png", Data: []byte{1, 2, 3}},
		{Type: runs.PartImage, URL: "https://example.com/a.png"}, {Type: runs.PartFile, MIMEType: "video/mp4", Data: []byte{1}},
	}}}
	check.Must(t, check.Err(a.Run(t.Context(), input)))
	want := map[string]int{ // two calls of the model, one of the agent and of the tool
		"gen_ai.input.messages": 3, "gen_ai.output.messages": 3, "gen_ai.system_instructions": 3, "gen_ai.tool.definitions": 2,
		"gen_ai.tool.call.arguments": 1, "gen_ai.tool.call.result": 1,
	}
	check.Same(t, "content", valid(t, r), want)
	chats := slices.DeleteFunc([]tracetest.SpanStub(r.GetSpans()), func(s tracetest.SpanStub) bool { return s.Name != "chat m" })
	const asked = `{"role":"user","parts":[{"type":"text","content":"Weather?"},{"type":"blob","content":"AQID","modality":"image","mime_type":"image/png"},` +
		`{"type":"uri","modality":"image","uri":"https://example.com/a.png"},{"type":"blob","content":"AQ==","modality":"video","mime_type":"video/mp4"}]}`
	last := attributes(chats[1].Attributes)
	for key, want := range map[string]string{
		"gen_ai.system_instructions": `[{"type":"text","content":"Be brief."}]`,
		"gen_ai.input.messages": "[" + asked + `,{"role":"assistant","parts":[{"type":"reasoning","content":"hm <b>"},{"type":"text","content":"Let me see."},{"type":"tool_call","id":"1","name":"lookup","arguments":{"day":"today"}}]},` +
			`{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":"Sunny today"}]}]`,
		"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"Sunny."}],"finish_reason":"stop"}]`,
	} {
		check.Same(t, key, last[key], want)
	}
	check.Contains(t, "reply", attributes(chats[0].Attributes)["gen_ai.output.messages"], `{"type":"reasoning","content":"hm <b>"}`)
	got := last["gen_ai.tool.definitions"]
	check.That(t, strings.HasPrefix(got, `[{"type":"function","name":"lookup","description":"Looks up.","parameters":{`), "got the tools %s", got)
	tool := attributes(r.span(t, "execute_tool lookup").Attributes)
	check.That(t, tool["gen_ai.tool.call.arguments"] == `{"day":"today"}` && tool["gen_ai.tool.call.result"] == `{"content":"Sunny today"}` && tool["gen_ai.tool.description"] == "Looks up.",
		"got the call %v", tool)
	whole := attributes(r.span(t, "invoke_agent").Attributes)
	check.That(t, whole["gen_ai.input.messages"] == "["+asked+"]" && whole["gen_ai.output.messages"] == last["gen_ai.output.messages"],
		"got the run %v", whole)
}

// A structured result is recorded as it is.
func TestStructuredResult(t *testing.T) {
	r := newRecorder(t, otelagent.Options{Content: true})
	v := &agent.Execution{Call: agent.Call{Name: "sum", Arguments: `[1]`}}
	_, end := r.telemetry.Execute(t.Context(), v)
	v.Result = &runs.Part{Type: runs.PartResult, Text: "3", Structured: json.RawMessage(`{"sum":3}`)}
	end(nil)
	got := attributes(r.span(t, "execute_tool sum").Attributes)
	check.Equal(t, "result", got["gen_ai.tool.call.result"], `{"sum":3}`)
	arguments, ok := got["gen_ai.tool.call.arguments"]
	check.That(t, !ok, "got the arguments %s, which are not an object", arguments)
}

// Exporters refuse all spans of a batch if a text in it is not UTF-8, which JSON of servers and models may not be.
func TestContentIsUTF8(t *testing.T) {
	const object = `{"a":"` + "\xff" + `"}`
	r := newRecorder(t, otelagent.Options{Content: true})
	result := runs.Part{Type: runs.PartResult, ID: "1", Structured: json.RawMessage(object)}
	_, end := r.telemetry.Infer(t.Context(), &agent.Inference{Request: &model.Request{
		Messages: []runs.Message{{Role: runs.RoleAssistant, Parts: []runs.Part{{Type: runs.PartCall, ID: "1", Arguments: object}}}, {Role: runs.RoleTool, Parts: []runs.Part{result}}},
		Tools:    []model.Tool{{Name: "f", Schema: json.RawMessage(object)}},
	}})
	end(nil)
	_, end = r.telemetry.Execute(t.Context(), &agent.Execution{Call: agent.Call{Name: "f", Arguments: object}, Result: &result})
	end(nil)
	count := 0
	for _, s := range r.GetSpans() {
		for key, value := range attributes(s.Attributes) {
			count += strings.Count(value, "\uFFFD")
			check.That(t, utf8.ValidString(value), "%s is not UTF-8: %q", key, value)
		}
	}
	check.Equal(t, "replaced bytes", count, 5)
}

// Nothing that a model, a tool or a person says is recorded unasked.
func TestNoContent(t *testing.T) {
	r, secret := newRecorder(t, otelagent.Options{}), "secret"
	run(t, r.agent(t, play(uses("1", "lookup", `{"secret":1}`), says(secret)), agent.Options{System: secret},
		adapter.Func("lookup", secret, func(context.Context, struct{}) (string, error) { return secret, nil }, nil)))
	lines := strings.Join(r.lines(t), "\n")
	check.That(t, !strings.Contains(lines, secret), "got %s", lines)
}

// Content keeps its bound and its schema, whatever its size. The newest messages stay.
func TestContentIsBounded(t *testing.T) {
	const limit = 64 << 10
	r := newRecorder(t, otelagent.Options{Content: true})
	long := strings.Repeat("é", limit)
	q := &model.Request{System: long}
	for range 100 {
		q.Messages = append(q.Messages, runs.Text(runs.RoleUser, long), runs.Message{Role: runs.RoleUser, Parts: []runs.Part{
			{Type: runs.PartImage, MIMEType: "image/png", Data: []byte(long)}, {Type: runs.PartImage, URL: "data:image/png;base64,AQID"},
			{Type: runs.PartCall, ID: "1", Name: "f", Arguments: `"` + long + `"`},
		}})
		q.Tools = append(q.Tools, model.Tool{Name: "f", Description: long, Schema: json.RawMessage(`{}`)}, model.Tool{Name: "g", Schema: json.RawMessage(`{`)})
	}
	q.Messages = append(q.Messages, runs.Text(runs.RoleUser, "\xff last"))
	_, end := r.telemetry.Infer(t.Context(), &agent.Inference{Request: q})
	end(nil)
	call := &agent.Execution{Call: agent.Call{Name: "f", Arguments: `{"a":"` + long + `"}`}, Description: long, Result: &runs.Part{Text: long}}
	_, end = r.telemetry.Execute(t.Context(), call)
	end(nil)
	if got := valid(t, r); got["gen_ai.input.messages"] != 1 || got["gen_ai.system_instructions"] != 1 || got["gen_ai.tool.definitions"] != 1 {
		t.Errorf("got the content %v", got)
	}
	for _, s := range r.GetSpans() {
		for key, value := range attributes(s.Attributes) {
			check.That(t, len(value) <= limit, "%s has %d bytes", key, len(value))
		}
	}
	got := attributes(r.span(t, "chat").Attributes)
	input := got["gen_ai.input.messages"]
	check.That(t, len(input) >= limit/2 && strings.HasSuffix(input, `[{"type":"text","content":"� last"}]}]`) && strings.Contains(input, `{"type":"omitted","modality":"image","mime_type":"image/png","byte_size":131072},{"type":"omitted","modality":"image","byte_size":26}`),
		"got the messages %s", input)
	system := got["gen_ai.system_instructions"]
	check.That(t, strings.HasSuffix(system, `é…"}]`), "got the instructions %s", system)
}

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
	var m conventions
	check.Must(t, yaml.UnmarshalWithOptions(check.Value(os.ReadFile("testdata/conventions.yaml"))(t), &m, yaml.Strict(), yaml.AllowFieldPrefixes("type")))
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
