package readers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// Tau2 reads tasks.json of τ²-bench, for servers that have the tools of its domain. The person says
// all they know at once: tasks in which the person acts, or which need a judge, are left out. A task
// passes if its calls are made and no others, where the benchmark compares databases: one more look-up
// fails.
func Tau2(tasks []byte, servers map[string]*suite.Server, policy string) (*suite.Suite, []Note, error) {
	var all []struct {
		ID       json.RawMessage
		Scenario struct{ Instructions json.RawMessage } `json:"user_scenario"`
		Criteria struct {
			Actions []struct {
				Name      string
				Arguments json.RawMessage
				Requestor string
			}
			Communicate []string          `json:"communicate_info"`
			Judged      []json.RawMessage `json:"nl_assertions"`
			Env         []json.RawMessage `json:"env_assertions"`
		} `json:"evaluation_criteria"`
	}
	if err := decode(tasks, &all); err != nil {
		return nil, nil, err
	}
	b := begin("tau2", servers)
tasks:
	for _, in := range all {
		t := &suite.Task{ID: text(in.ID), System: policy, Prompt: scenario(in.Scenario.Instructions)}
		c := in.Criteria
		if len(c.Judged)+len(c.Env) > 0 {
			b.leaveOut(t.ID, "it has assertions for a judge or for the environment of the benchmark")
			continue
		}
		for _, a := range c.Actions {
			if a.Requestor == "user" {
				b.leaveOut(t.ID, "the person acts: %s", a.Name)
				continue tasks
			}
			t.Expect.Calls = append(t.Expect.Calls, suite.Call{Tool: a.Name, Args: a.Arguments})
		}
		if len(c.Actions) > 0 {
			t.Expect.Gates = []string{"answer", "calls", "arguments"}
		}
		if len(c.Communicate) > 0 {
			t.Expect.Answer = &suite.Answer{Contains: c.Communicate}
		}
		b.add(t)
	}
	return b.end()
}

// scenario is what the person knows, as one message.
func scenario(raw json.RawMessage) string {
	var parts struct {
		Reason string `json:"reason_for_call"`
		Known  string `json:"known_info"`
		Tasks  string `json:"task_instructions"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return text(raw)
	}
	return strings.TrimSpace(strings.Join([]string{parts.Reason, parts.Known, parts.Tasks}, "\n"))
}

// steps finds the steps of an evaluator of MCP-Universe.
var steps = regexp.MustCompile(`^get\(([^)]*)\)$`)

// MCPUniverse reads a task definition, for servers with the names that it has. Evaluators that get a
// member of the answer's JSON and compare it are taken; tasks with others are left out.
func MCPUniverse(tasks map[string][]byte, servers map[string]*suite.Server) (*suite.Suite, []Note, error) {
	b := begin("mcp-universe", servers)
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		data := tasks[id]
		var in struct {
			Category, Question string
			Servers            []json.RawMessage `json:"mcp_servers"`
			Format             json.RawMessage   `json:"output_format"`
			Evaluators         []struct {
				Func, Op string
				Value    json.RawMessage
			}
		}
		if err := decode(data, &in); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", id, err)
		}
		t := &suite.Task{ID: id, Tags: []string{in.Category}, Prompt: in.Question, Servers: []string{}, Expect: suite.Expect{Answer: &suite.Answer{}}}
		if len(in.Format) > 0 {
			t.Prompt += "\nAnswer with JSON of this form and nothing else: " + string(in.Format)
		}
		why := ""
		for _, raw := range in.Servers {
			var named struct{ Name string }
			_ = json.Unmarshal(raw, &named) // a string is taken below
			if named.Name == "" {
				named.Name = text(raw)
			}
			if !server(servers, named.Name) {
				why = fmt.Sprintf("there is no server %q", named.Name)
			}
			t.Servers = append(t.Servers, named.Name)
		}
		for _, e := range in.Evaluators {
			pointer, ok := pointerOf(e.Func)
			if !ok || e.Op != "=" || len(e.Value) == 0 {
				why = fmt.Sprintf("the evaluator %q %s is of the benchmark", e.Func, e.Op)
				break
			}
			t.Expect.Answer.JSON = append(t.Expect.Answer.JSON, suite.Member{Pointer: pointer, Equals: e.Value})
		}
		if why != "" || len(t.Expect.Answer.JSON) == 0 {
			b.leaveOut(id, "%s", why)
			continue
		}
		b.add(t)
	}
	return b.end()
}

// pointerOf is the JSON pointer of "json -> get(a) -> get(b)".
func pointerOf(f string) (string, bool) {
	parts := strings.Split(f, "->")
	if strings.TrimSpace(parts[0]) != "json" {
		return "", false
	}
	pointer := ""
	for _, p := range parts[1:] {
		m := steps.FindStringSubmatch(strings.TrimSpace(p))
		if m == nil {
			return "", false
		}
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m[1])
	}
	return pointer, true
}

// MCPMark reads the tasks below a directory, for servers by the names in "mcp". verify has the checks
// of verify.py, by the ids of tasks; tasks without are left out.
func MCPMark(tasks fs.FS, servers map[string]*suite.Server, verify map[string]suite.Expect) (*suite.Suite, []Note, error) {
	b := begin("mcpmark", servers)
	err := fs.WalkDir(tasks, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != "meta.json" {
			return err
		}
		meta, err := fs.ReadFile(tasks, name)
		if err != nil {
			return err
		}
		var in struct {
			ID         string `json:"task_id"`
			Tags       []string
			Difficulty string
			MCP        []string
		}
		if err := json.Unmarshal(meta, &in); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		prompt, err := fs.ReadFile(tasks, path.Join(path.Dir(name), "description.md"))
		if err != nil {
			return err
		}
		expect, ok := verify[in.ID]
		if !ok {
			b.leaveOut(in.ID, "verify.py is not ported")
			return nil
		}
		for _, s := range in.MCP {
			if !server(servers, s) {
				b.leaveOut(in.ID, "there is no server %q", s)
				return nil
			}
		}
		b.add(&suite.Task{ID: in.ID, Tags: append(in.Tags, in.Difficulty), Servers: in.MCP, Prompt: string(prompt), Expect: expect})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return b.end()
}
