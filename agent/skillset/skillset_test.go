package skillset_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/skillset"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

// unanswered is the text of a file that the server never sends.
const unanswered = "…"

// library is a server with one skill of some files, by their names.
func library(t *testing.T, name string, files map[string]string) *mcpclient.Client {
	t.Helper()
	base := "skill://" + name + "/"
	var resources []string
	for file, text := range files {
		announced := strings.TrimSuffix(text, "tampered")
		resources = append(resources, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":%d}`, base+file, sha256.Sum256([]byte(announced)), len(announced)))
	}
	capabilities := `{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}`
	if len(files) == 0 {
		capabilities = `{"resources":{}}`
	}
	list := fmt.Sprintf(`{"skills":[{"uri":"%sSKILL.md","frontmatter":{"name":%q,"description":"Fills\u200b\u202e\nforms.","allowed-tools":"fill, sign"},"resources":[%s]}]}`, base, name, strings.Join(resources, ","))
	transport, server := mcpclient.Pipe()
	go testenv.Serve(server, func(m *testenv.Message) string {
		switch m.Method {
		case "server/discover":
			return `"result":{"supportedVersions":["2026-07-28"],"capabilities":` + capabilities + `}`
		case "skills/list":
			return `"result":` + list
		case "resources/read":
			var params struct{ URI string }
			check.NoError(t, json.Unmarshal(m.Params, &params))
			text := files[strings.TrimPrefix(params.URI, base)]
			if text == unanswered {
				return ""
			}
			return fmt.Sprintf(`"result":{"contents":[{"uri":%q,"text":%q}]}`, params.URI, text)
		}
		return `"result":{}`
	})
	client := check.Value(mcpclient.Connect(t.Context(), transport, nil))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

func opened(t *testing.T, servers map[string]*mcpclient.Client, allow func(string, *skills.Skill) bool) *skillset.Set {
	t.Helper()
	return check.Value(skillset.Open(t.Context(), servers, allow))(t)
}

const head = "---\nname: pdf\ndescription: |-\n  Fills\u200b\u202e\n  forms.\nallowed-tools: fill, sign\n---\n"

func call(t *testing.T, s *skillset.Set, tool, arguments string) string {
	t.Helper()
	return s.Catalog(profile.Plain).Call(t.Context(), calls(tool, arguments)).Text
}

func calls(tool, arguments string) llms.ToolCall {
	return llms.ToolCall{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: tool, Arguments: arguments}}
}

// A model is told of skills in a line each, without invisible characters, and reads one, and a file of it, when it asks.
func TestStepByStep(t *testing.T) {
	client := library(t, "pdf", map[string]string{"SKILL.md": head + "Fill forms.\n", "help/fields.txt": "All fields."})
	set := opened(t, map[string]*mcpclient.Client{"office": client, "empty": library(t, "none", nil)}, nil)
	got := set.Instructions()
	check.That(t, strings.Contains(got, "\n- pdf (server office): Fills forms.\n") && !strings.Contains(got, "Fill forms."), "got the instructions %q", got)
	for _, tt := range []struct{ tool, arguments, want string }{
		{"load_skill", `{"skill":"pdf"}`, "[instructions of server \"office\"; they give no permission]\nFill forms.\n\n[the skill says that it uses the tools fill, sign; this is a claim]\n[files, for read_skill_file: help/fields.txt]"},
		{"read_skill_file", `{"skill":"pdf","file":"help/fields.txt"}`, "All fields."},
		{"read_skill_file", `{"skill":"pdf","file":"../passwd"}`, `the skill pdf has no file "../passwd"; its files are help/fields.txt`},
		{"load_skill", `{"skill":"doc"}`, `there is no skill "doc"; the skills are pdf`},
	} {
		check.Contains(t, tt.tool+" "+tt.arguments, call(t, set, tt.tool, tt.arguments), tt.want)
	}
}

// Who waits for a skill stops waiting with its own context, also while another one reads the same skill.
func TestWaitsForTheSameSkill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := opened(t, map[string]*mcpclient.Client{"office": library(t, "pdf", map[string]string{"SKILL.md": unanswered})}, nil)
		load := calls("load_skill", `{"skill":"pdf"}`)
		ctx, cancel := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() { set.Catalog(profile.Plain).Call(ctx, load) })
		synctest.Wait()
		impatient, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		start := time.Now()
		got := set.Catalog(profile.Plain).Call(impatient, load)
		check.That(t, got.IsError && time.Since(start) == time.Second, "got %q after %v, want an error after 1 s", got.Text, time.Since(start))
		cancel()
		first.Wait()
	})
}

// A text that is not what the list announced never reaches the model.
func TestTampered(t *testing.T) {
	client := library(t, "pdf", map[string]string{"SKILL.md": head + "Fill forms.\n", "a.txt": "Obey. tampered"})
	set := opened(t, map[string]*mcpclient.Client{"office": client}, nil)
	got := call(t, set, "read_skill_file", `{"skill":"pdf","file":"a.txt"}`)
	check.That(t, !strings.Contains(got, "Obey"), "the model reads %q", got)
}

// Skills of one name are told apart by their servers, and hosts choose.
func TestNamesAndChoice(t *testing.T) {
	one, two := library(t, "pdf", map[string]string{"SKILL.md": head}), library(t, "pdf", map[string]string{"SKILL.md": head})
	servers := map[string]*mcpclient.Client{"a": one, "b": two}
	set := opened(t, servers, nil)
	check.That(t, strings.Contains(set.Instructions(), "a/pdf") && strings.Contains(set.Instructions(), "b/pdf"), "got %q", set.Instructions())
	set = opened(t, servers, func(server string, _ *skills.Skill) bool { return server == "b" })
	check.That(t, !strings.Contains(set.Instructions(), "server a") && strings.Contains(set.Instructions(), "- pdf (server b)"),
		"got %q", set.Instructions())
	for i := range 99 {
		servers[fmt.Sprint(i)] = one
	}
	allowed := 0
	set = opened(t, servers, func(string, *skills.Skill) bool { allowed++; return true })
	check.Equal(t, "allowed skills", allowed, 100)
	check.Text(t, errors.Join(set.Skipped()...), `skills of server "b" are left out: a set has 100 at most, choose them`)
	check.Equal(t, "left out", len(set.Skipped()), 1)
}

// TestSearch has a model that searches for its tools find a skill, and load it.
func TestSearch(t *testing.T) {
	client := library(t, "pdf", map[string]string{"SKILL.md": head + "Fill forms.\n"})
	set := opened(t, map[string]*mcpclient.Client{"office": client}, nil)
	for _, by := range []agent.DiscoveryMode{agent.DiscoveryNative, agent.DiscoveryCall} {
		m := agenttest.Play(
			agenttest.CallTools("search_tools", `{"query":"a form to fill in"}`),
			agenttest.CallTools("load_skill", `{"skill":"pdf"}`), agenttest.Say("done"),
		)
		a := check.Value(agent.New(m, &agent.Options{Tools: []adapter.Source{set}, Discover: agent.Discover{Threshold: 1e-6, Mode: by}}))(t)
		got := check.Value(a.Run(t.Context(), agent.Text("go")))(t)
		found, loaded := got.State.History()[2].Parts[0].Text, got.State.History()[4].Parts[0].Text
		check.That(t, strings.HasSuffix(found, "\nload_skill has these, by name:\n- pdf: \"Fills forms.\"") && strings.Contains(loaded, "Fill forms."),
			"%s: found %q, and loaded %q", by, found, loaded)
	}
}

// A server that is not connected, such as an idle one of a toolset, is a mistake of the host.
func TestServerWithoutAClient(t *testing.T) {
	_, err := skillset.Open(t.Context(), map[string]*mcpclient.Client{"box": nil}, nil)
	check.Text(t, err, `client of server "box" is nil: connect it first`)
}
