package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// provenance says where the schemas of each file in testdata/schemas come from, and how many there are. They are unchanged.
var provenance = map[string]struct {
	source string
	tools  int
	listed bool // by a server that was run
}{
	"brave-search":        {"npm: @modelcontextprotocol/server-brave-search", 2, true},
	"context7":            {"npm: @upstash/context7-mcp", 2, true},
	"everything":          {"npm: @modelcontextprotocol/server-everything", 16, true},
	"filesystem":          {"npm: @modelcontextprotocol/server-filesystem", 14, true},
	"github":              {"npm: @modelcontextprotocol/server-github", 26, true},
	"github-official":     {"github.com/github/github-mcp-server", 10, true},
	"google-maps":         {"npm: @modelcontextprotocol/server-google-maps", 7, true},
	"memory":              {"npm: @modelcontextprotocol/server-memory", 9, true},
	"notion":              {"npm: @notionhq/notion-mcp-server", 12, true},
	"playwright":          {"npm: @playwright/mcp", 25, true},
	"sequential-thinking": {"npm: @modelcontextprotocol/server-sequential-thinking", 1, true},
	"slack":               {"npm: @modelcontextprotocol/server-slack", 8, true},
	"modelled":            {"shaped like those of other servers and of the examples of the SDKs, by their names", 81, false},
	"pathological":        {"what nobody should write", 46, false},
}

// publishedSchemas reads testdata/schemas: input schemas by source and name of the tool.
func publishedSchemas(t testing.TB) map[string]json.RawMessage {
	files := check.Value(filepath.Glob("testdata/schemas/*.json"))(t)
	out := map[string]json.RawMessage{}
	for _, file := range files {
		data := check.Value(os.ReadFile(file))(t)
		var tools map[string]json.RawMessage
		check.Must(t, json.Unmarshal(data, &tools))
		for name, raw := range tools {
			out[strings.TrimSuffix(filepath.Base(file), ".json")+"/"+name] = raw
		}
	}
	return out
}

// parametersOf writes a tool for a profile and decodes the parameters as a provider would.
func parametersOf(t testing.TB, tool *Tool, p profile.Profile) (root map[string]any, strict bool, changes []profile.Change) {
	t.Helper()
	c := newCatalog([]*Tool{tool}, p, 0)
	*tool = *c.tools[0]
	v := check.Value(schema.Decode(check.Value(json.Marshal(c.definitions[0].Function.Parameters))(t)))(t)
	return v.(map[string]any), c.definitions[0].Function.Strict, c.changes
}

// writtenFor is parametersOf, and checks that the schema is within the profile's subset, and that it loses only
// what is known.
func writtenFor(t *testing.T, tool *Tool, p profile.Profile) (root map[string]any, changes []profile.Change) {
	t.Helper()
	root, strict, changes := parametersOf(t, tool, p)
	err := subsets[p](root, strict)
	check.Require(t, err == nil, "not what %s takes: %v\n%s\nof\n%s", p, err, show(root), show(tool.input.Root()))
	checkUnheld(t, p, changes)
	return root, changes
}

// offer is the schema of a tool as a model gets it.
type offer struct {
	*schema.Schema
	root map[string]any
}

func offered(t *testing.T, tool *Tool, p profile.Profile) offer {
	t.Helper()
	root, _ := writtenFor(t, tool, p)
	rewritten, err := schema.Compile([]byte(show(dialect(p, root))))
	check.Require(t, err == nil, "%v\n%s", err, show(root))
	return offer{rewritten, root}
}

func (o offer) fits(t *testing.T, arguments string) {
	t.Helper()
	check.NoError(t, o.Validate([]byte(arguments)), arguments, "fits", show(o.root))
}

func (o offer) refuses(t *testing.T, arguments string) {
	t.Helper()
	check.Fails(t, o.Validate([]byte(arguments)), arguments, "refused by", show(o.root))
}

// sends checks what a tool sends for arguments of a model.
func (t *Tool) sends(test *testing.T, arguments, want string) {
	test.Helper()
	got, err := t.arguments(arguments)
	check.That(test, err == nil && string(got) == want, "%s: got %s, %v, want %s", arguments, got, err, want)
}

// Every schema, for every profile, is within the subset that the provider documents. Arguments that
// fit it are accepted or repaired, or a change says that the written schema is wider.
func TestProfiles(t *testing.T) {
	all := publishedSchemas(t)
	counts := map[string]int{}
	for name := range all {
		file, _, _ := strings.Cut(name, "/")
		counts[file]++
	}
	for file, p := range provenance {
		check.That(t, counts[file] == p.tools, "%s.json: got %d schemas, want the %d of %s", file, counts[file], p.tools, p.source)
	}
	check.Equal(t, "files with a source", len(provenance), len(counts))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tool := toolWith(t, string(all[name]))
		for _, p := range profile.All() {
			t.Run(name+"/"+string(p), func(t *testing.T) {
				root, changes := writtenFor(t, tool, p)
				again, _, _ := parametersOf(t, tool, p)
				check.Same(t, "got another schema the second time", again, root)
				fit := checkArguments(t, tool, p, root, changes, 30)
				check.That(t, fit >= 3, "got %d arguments of 30 that fit, want enough to tell something", fit)
			})
		}
	}
}

// The same holds for random schemas.
func TestProfilesOfRandomSchemas(t *testing.T) {
	schemas := 75
	if testing.Short() {
		schemas = 30
	}
	fit := map[profile.Profile]int{}
	for seed := range schemas {
		g := &generator{Rand: rand.New(rand.NewPCG(uint64(seed), 3))}
		tool := toolWith(t, show(g.schemaOf()))
		for _, p := range profile.All() {
			ok := t.Run(fmt.Sprintf("%d/%s", seed, p), func(t *testing.T) {
				root, changes := writtenFor(t, tool, p)
				fit[p] += checkArguments(t, tool, p, root, changes, 10)
			})
			if !ok {
				return
			}
		}
	}
	for _, p := range profile.All() {
		check.That(t, fit[p] >= 4*schemas, "%s: got %d arguments that fit of %d, want enough to tell something", p, fit[p], 10*schemas)
	}
}

func show(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// checkArguments checks that arguments that fit the written schema fit the original one without the
// keywords of Wider changes. It returns how many fit.
func checkArguments(t *testing.T, tool *Tool, p profile.Profile, root map[string]any, changes []profile.Change, n int) (fit int) {
	t.Helper()
	root = dialect(p, root)
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2)), root: root}
	rewritten := check.Value(schema.Compile([]byte(show(root))))(t)
	var lenient *Tool
	for range n {
		args := check.Value(json.Marshal(g.value(root, 5)))(t)
		if rewritten.Validate(args) != nil {
			continue // the generator does not know all keywords
		}
		fit++
		sent, err := tool.arguments(string(args))
		if err != nil {
			if lenient == nil {
				lenient = toolWith(t, show(relaxed(tool.input.Root(), changes)))
				lenient.input.Wrapper = tool.input.Wrapper
			}
			_, err := lenient.arguments(string(args))
			check.Require(t, err == nil, "%s: got %v, want arguments that fit\n%s\nto be accepted by\n%s\nchanges are %v", args, err, show(root), show(lenient.input.Root()), changes)
			continue
		}
		err = tool.valid(sent)
		check.Require(t, err == nil, "%s: got %s sent, which does not fit: %v", args, sent, err)
	}
	return fit
}

// A schema that a provider accepts is not changed.
func TestProfilesLoseNothingWithoutNeed(t *testing.T) {
	needed := regexp.MustCompile(`at the root|merged into|from the root|keyword is added`)
	for name, raw := range publishedSchemas(t) {
		tool := toolWith(t, string(raw))
		for _, p := range []profile.Profile{profile.Plain, profile.OpenAI, profile.Anthropic} {
			c := newCatalog([]*Tool{tool}, p, 0)
			*tool = *c.tools[0]
			for _, change := range c.changes {
				check.That(t, change.Effect == "same" || needed.MatchString(change.Note), "%s for %s: got %+v, want nothing lost", name, p, change)
			}
			got, _ := c.definitions[0].Function.Parameters.(json.RawMessage)
			check.That(t, len(c.changes) > 0 || string(got) == string(tool.input.Parameters), "%s for %s: got %s without a change, want %s", name, p, got, tool.input.Parameters)
		}
	}
}

// Changes without an effect are not listed; all others are.
func TestChangesThatAreListed(t *testing.T) {
	for name, tt := range map[string]struct {
		p            profile.Profile
		schema, want string
		changes      []string
	}{
		"closed": {profile.OpenAIStrict, `{"$schema":"http://json-schema.org/draft-07/schema#","x-order":1,"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"required":["o"]}`,
			`{"additionalProperties":false,"properties":{"o":{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}},"required":["o"],"type":"object"}`, nil},
		"closed against the word of the server": {profile.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, []string{" additionalProperties narrower"}},
		"within the subset": {profile.OpenAIStrict, `{"type":"object","required":["b","a"],"properties":{"b":{"type":"string"},"a":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","required":["b","a"],"properties":{"b":{"type":"string"},"a":{"type":"string"}},"additionalProperties":false}`, nil},
		"a root that is referred to": {profile.Plain, `{"properties":{"a":{"$ref":"#"}}}`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
			[]string{" type narrower"}},
		"a root that is referred to, without references": {profile.GoogleAI, `{"properties":{"a":{"type":"string","$ref":"#"}}}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, []string{" type same", "/properties/a $ref same"}},
		"not strict": {profile.OpenAIStrict, `{"type":"object","properties":{"o":{"type":"object"}},"required":["o"]}`,
			`{"type":"object","properties":{"o":{"type":"object"}},"required":["o"]}`, []string{"/properties/o properties same"}},
		"bookkeeping": {profile.Gemini, `{"$schema":"http://json-schema.org/draft-07/schema#","$comment":"c","type":"object","properties":{"a":{"type":"string","examples":["x"]}},"additionalProperties":false,"$defs":{"d":{}}}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, []string{"/properties/a examples same"}},
	} {
		t.Run(name, func(t *testing.T) {
			catalog := newCatalog([]*Tool{toolWith(t, tt.schema)}, tt.p, 0)
			raw, err := json.Marshal(catalog.definitions[0].Function.Parameters)
			check.That(t, err == nil && string(raw) == tt.want, "got %s, %v, want %s", raw, err, tt.want)
			var changes []string
			for _, c := range catalog.changes {
				changes = append(changes, fmt.Sprintf("%s %s %s", c.Path, c.Keyword, c.Effect))
			}
			check.Same(t, "changes", changes, tt.changes)
		})
	}
}

func TestCatalogForAProvider(t *testing.T) {
	ts := newPeer().tool("open", object, echo).tool("search",
		`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"],"additionalProperties":false}`, echo).
		tool("union", `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`, echo).open(t, nil)
	catalog := ts.Catalog(profile.OpenAIStrict)
	defs, changes := catalog.Definitions(), catalog.Changes()
	var strict []string
	for _, d := range defs {
		if d.Function.Strict {
			strict = append(strict, d.Function.Name)
		}
	}
	check.Same(t, "strict", strict, []string{"open", "search"})
	want := profile.Change{Tool: "search", Path: "/properties/n", Keyword: "required", Effect: "same", Note: "null stands for a missing property"}
	check.That(t, slices.Contains(changes, want), "got %v, want %v among them", changes, want)
	check.Equal(t, "null turned back", callTool(t, ts, "search", `{"q":"x","n":null}`).Text, `{"q":"x"}`)
	for _, target := range []profile.Profile{profile.Gemini, profile.GoogleAI} {
		for _, d := range ts.Catalog(target).Definitions() {
			_, ok := d.Function.Parameters.(map[string]any)
			check.That(t, ok, "%s: got %T, want the map that langchaingo's providers insist on", target, d.Function.Parameters)
		}
	}
	check.Equal(t, "the placeholder taken out", callTool(t, ts, "open", `{"no_parameters":true}`).Text, `{}`)
	defs[0].Function.Name = "changed"
	check.Equal(t, "the caller's change", ts.Catalog(profile.OpenAIStrict).Definitions()[0].Function.Name, "open")
}

// Tools without parameters were refused: "object schema missing properties", or null where a list belongs.
func TestToolsWithoutParameters(t *testing.T) {
	for _, s := range []string{`{}`, `{"type":"object"}`, `{"type":"object","properties":{},"required":[]}`, `{"type":"object","properties":{},"required":null}`, `{"type":"object","properties":null}`} {
		tool := toolWith(t, s)
		for _, p := range profile.All() {
			root, strict, changes := parametersOf(t, tool, p)
			written := string(tool.input.Parameters) != s
			check.That(t, !written || len(changes) != 0, "%s for %s: got no change, want what was spelled out", s, p)
			required, ok := root["required"]
			check.That(t, !ok || required != nil, "%s for %s: got %v, want no null", s, p, root)
			check.NoError(t, subsets[p](root, strict), s, "for", p)
		}
		tool.sends(t, "", "{}")
	}
}
