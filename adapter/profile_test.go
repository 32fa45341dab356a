package adapter

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/schema"
)

// publishedSchemas reads testdata/schemas: input schemas of tools by source and
// name. A file named after a server is what that server listed; modelled.json
// holds schemas shaped like those of servers and SDKs that were not run, and
// pathological.json those that nobody should write.
func publishedSchemas(t testing.TB) map[string]json.RawMessage {
	files, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]json.RawMessage{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tools map[string]json.RawMessage
		if err := json.Unmarshal(data, &tools); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, raw := range tools {
			out[strings.TrimSuffix(filepath.Base(file), ".json")+"/"+name] = raw
		}
	}
	return out
}

// parametersOf writes a tool for a profile and reads the parameters back as a
// provider would.
func parametersOf(t testing.TB, tool *Tool, p Profile) (root map[string]any, strict bool, changes []SchemaChange) {
	t.Helper()
	d := define([]*Tool{tool}, p)
	raw, err := json.Marshal(d.tools[0].Function.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	v, err := schema.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any), d.tools[0].Function.Strict, d.changes
}

// Every schema, through every profile, is within what the provider documents,
// and what fits it is accepted by the server's schema, or repaired to it, or
// differs where a change says that the model is not held to it.
func TestProfiles(t *testing.T) {
	all := publishedSchemas(t)
	published := 0
	for name := range all {
		if !strings.HasPrefix(name, "pathological/") && !strings.HasPrefix(name, "modelled/") {
			published++
		}
	}
	if published < 60 {
		t.Errorf("got %d published schemas, want at least 60 that servers listed", published)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tool := toolWith(t, string(all[name]))
		for _, p := range Profiles() {
			t.Run(name+"/"+p.String(), func(t *testing.T) {
				root, strict, changes := parametersOf(t, tool, p)
				if err := subsets[p](root, strict); err != nil {
					t.Fatalf("not what %s takes: %v\n%s", p, err, show(root))
				}
				again, _, _ := parametersOf(t, tool, p)
				if diff := cmp.Diff(again, root); diff != "" {
					t.Errorf("got another schema the second time:\n%s", diff)
				}
				checkArguments(t, tool, root, changes)
			})
		}
	}
}

func show(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// checkArguments is the property: arguments that fit the rewritten schema are
// accepted.
func checkArguments(t *testing.T, tool *Tool, root map[string]any, changes []SchemaChange) {
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2)), root: root}
	rewritten, err := schema.Compile([]byte(show(withNull(root))))
	if err != nil {
		t.Fatal(err)
	}
	fit := 0
	for range 30 {
		args, err := json.Marshal(g.value(root, 5))
		if err != nil {
			t.Fatal(err)
		}
		if rewritten.Validate(args) != nil {
			continue // the generator does not know all keywords
		}
		fit++
		sent, err := tool.Arguments(string(args))
		if err == nil {
			if err := tool.schema.Validate(sent); err != nil {
				t.Fatalf("%s: got %s sent, which does not fit: %v", args, sent, err)
			}
			continue
		}
		var wrong *ArgumentError
		if !errors.As(err, &wrong) || !slices.ContainsFunc(changes, func(c SchemaChange) bool { return c.Effect == Wider && related(c.Path, wrong.Path) }) {
			t.Fatalf("%s: got %v, want arguments that fit\n%s\nto be accepted; changes are %v", args, err, show(root), changes)
		}
	}
	if fit < 3 {
		t.Errorf("got %d arguments of 30 that fit, want enough to tell something", fit)
	}
}

// withNull writes the nullable of Gemini's schemas as JSON Schema does.
func withNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = withNull(member)
		}
		if kind, ok := v["type"].(string); ok && v["nullable"] == true {
			out["type"] = []any{kind, "null"}
			if values := list(v["enum"]); values != nil {
				out["enum"] = append(slices.Clone(values), nil)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withNull(item)
		}
		return out
	}
	return v
}

var (
	toValue  = regexp.MustCompile(`/(anyOf|oneOf|allOf|prefixItems)/\d+`)
	toMember = regexp.MustCompile(`/properties(/[^/]*)`)
	toItem   = regexp.MustCompile(`/(items|additionalProperties)(/|$)`)
)

// related reports whether a place in a schema and a place in a value are on one
// line from the root. Definitions may be anywhere.
func related(inSchema, inValue string) bool {
	if strings.HasPrefix(inSchema, "/$defs/") || strings.HasPrefix(inSchema, "/definitions/") {
		return true
	}
	inSchema = toItem.ReplaceAllString(toItem.ReplaceAllString(toMember.ReplaceAllString(toValue.ReplaceAllString(inSchema, ""), "$1"), "/*$2"), "/*$2")
	a, b := strings.Split(inSchema, "/"), strings.Split(inValue, "/")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && a[i] != "*" {
			return false
		}
	}
	return true
}

// What a provider can take as it is stays as it is.
func TestProfilesLoseNothingWithoutNeed(t *testing.T) {
	needed := regexp.MustCompile(`at the root|merged into|from the root`)
	for name, raw := range publishedSchemas(t) {
		tool := toolWith(t, string(raw))
		for _, p := range []Profile{Plain, OpenAI, Anthropic} {
			d := define([]*Tool{tool}, p)
			for _, c := range d.changes {
				if c.Effect != Same && !needed.MatchString(c.Note) {
					t.Errorf("%s for %s: got %+v, want nothing lost", name, p, c)
				}
			}
			if got, _ := d.tools[0].Function.Parameters.(json.RawMessage); len(d.changes) == 0 && string(got) != string(tool.parameters) {
				t.Errorf("%s for %s: got %s without a change, want %s", name, p, got, tool.parameters)
			}
		}
	}
}

func TestDefinitionsFor(t *testing.T) {
	p := newPeer().tool("open", object, echo).tool("search", `{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"],"additionalProperties":false}`, echo)
	p.tool("union", `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`, echo)
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
	defs, changes := ts.DefinitionsFor(OpenAIStrict)
	var strict []string
	for _, d := range defs {
		if d.Function.Strict {
			strict = append(strict, d.Function.Name)
		}
	}
	if diff := cmp.Diff(strict, []string{"open", "search"}); diff != "" {
		t.Errorf("got (-) want (+) strict:\n%s", diff)
	}
	want := SchemaChange{Tool: "search", Path: "/properties/n", Keyword: "required", Effect: Same, Note: "null stands for not given"}
	if !slices.Contains(changes, want) {
		t.Errorf("got %v, want %v among them", changes, want)
	}
	if r := ts.Call(t.Context(), call("1", "search", `{"q":"x","n":null}`)); r.Text != `{"q":"x"}` {
		t.Errorf("got %q, want null turned back", r.Text)
	}
	for _, profile := range []Profile{Gemini, GoogleAI} {
		defs, _ := ts.DefinitionsFor(profile)
		for _, d := range defs {
			if _, ok := d.Function.Parameters.(map[string]any); !ok {
				t.Errorf("%s: got %T, want the map that langchaingo's providers insist on", profile, d.Function.Parameters)
			}
		}
	}
	if r := ts.Call(t.Context(), call("1", "open", `{"no_parameters":true}`)); r.Text != `{}` {
		t.Errorf("got %q, want the placeholder taken out", r.Text)
	}
	defs[0].Function.Name = "changed"
	if again, _ := ts.DefinitionsFor(OpenAIStrict); again[0].Function.Name != "open" {
		t.Error("got the caller's change, want definitions of its own for every caller")
	}
	defer func() {
		if recover() == nil {
			t.Error("got no panic for a profile that there is not")
		}
	}()
	ts.DefinitionsFor(profileCount)
}

func TestOddNamesAreTurnedBack(t *testing.T) {
	tool := toolWith(t, `{"type":"object","properties":{"weird name":{"type":"integer"},"list":{"items":{"properties":{"a/b":{}}}},"plain":{}}}`)
	for in, want := range map[string]string{
		`{"weird_name":1}`:                  `{"weird name":1}`,
		`{"weird name":1,"weird_name":2}`:   `{"weird name":1,"weird_name":2}`,
		`{"list":[{"a_b":true}],"plain":1}`: `{"list":[{"a/b":true}],"plain":1}`,
		`{"weird name":"7"}`:                `{"weird name":7}`,
	} {
		if got, err := tool.Arguments(in); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}
