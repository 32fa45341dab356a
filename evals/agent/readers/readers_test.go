package readers

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// check compares the tasks that were taken and left out, and has the oracle do them where it can.
func check(t *testing.T, s *suite.Suite, notes []Note, err error, taken, left int, oracle bool) {
	t.Helper()
	if err != nil || len(s.Tasks) != taken || len(notes) != left {
		t.Fatalf("got %+v, left out %v, %v, want %d tasks and %d notes", s, notes, err, taken, left)
	}
	if !oracle {
		return
	}
	file, err := results.Open(filepath.Join(t.TempDir(), "r.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := agenteval.Run(t.Context(), []*suite.Suite{s}, &agenteval.Options{Model: model.Spec{Kind: "oracle"}, Results: file, Dir: t.TempDir(), Patience: 10 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	for _, l := range file.Lines() {
		if l.Outcome != results.Pass {
			t.Errorf("%s: %s", l.Task, l.Reason)
		}
	}
}

func TestBFCL(t *testing.T) {
	s, notes, err := BFCL([]byte(`{"id":"a","question":[[{"role":"user","content":"The area of a 3 by 4 triangle?"}]],"function":[{"name":"geometry.area","description":"Area.","parameters":{"type":"dict","properties":{"base":{"type":"float"},"height":{"type":"float"},"unit":{"type":"string"}},"required":["base","height"]}}]}
{"id":"b","question":[[{"role":"user","content":"Add two pairs."}]],"function":[{"name":"add","description":"Adds.","parameters":{"type":"dict","properties":{"n":{"type":"array","items":{"type":"integer"}}},"required":["n"]}}]}
{"id":"c","question":[[{"role":"user","content":"one"}],[{"role":"user","content":"two"}]],"function":[]}
`), []byte(`{"id":"a","ground_truth":[{"geometry.area":{"base":[3,3.0],"height":[4],"unit":["cm",""]}}]}
{"id":"b","ground_truth":[{"add":{"n":[[1,2]]}},{"add":{"n":[[3,4]]}}]}
`))
	check(t, s, notes, err, 2, 1, true)
}

var bank = map[string]*suite.Server{"bank": {InProcess: "bank", Seed: map[string]json.RawMessage{"Ada": []byte("100"), "Alan": []byte("0")}}}

func TestTau2(t *testing.T) {
	s, notes, err := Tau2([]byte(`[
{"id":"pay","user_scenario":{"persona":null,"instructions":{"task_instructions":"Be brief.","domain":"bank","reason_for_call":"Ada pays 5 to Alan.","known_info":"You are Ada."}},
 "evaluation_criteria":{"actions":[{"action_id":"1","name":"transfer","arguments":{"from":"Ada","to":"Alan","amount":5}}],"communicate_info":["paid"],"nl_assertions":null}},
{"id":2,"user_scenario":{"instructions":"How much has Ada?"},"evaluation_criteria":{"actions":[],"communicate_info":["100"]}},
{"id":"judged","user_scenario":{"instructions":"x"},"evaluation_criteria":{"nl_assertions":["is polite"]}},
{"id":"acts","user_scenario":{"instructions":"x"},"evaluation_criteria":{"actions":[{"name":"reboot","requestor":"user"}]}}]`), bank, "You work for a bank.")
	check(t, s, notes, err, 2, 2, true)
}

func TestMCPUniverse(t *testing.T) {
	s, notes, err := MCPUniverse(map[string][]byte{
		"one":   []byte(`{"category":"general","question":"How much has Ada?","mcp_servers":[{"name":"bank"}],"output_format":{"balance":"<n>"},"evaluators":[{"func":"json -> get(who) -> get(balance)","op":"=","value":100}]}`),
		"two":   []byte(`{"category":"general","question":"x","mcp_servers":[{"name":"maps"}],"evaluators":[{"func":"json -> get(city)","op":"=","value":"Oslo"}]}`),
		"three": []byte(`{"category":"general","question":"x","mcp_servers":["bank"],"evaluators":[{"func":"json -> get(x) -> len","op":">","value":3}]}`),
	}, bank)
	check(t, s, notes, err, 1, 2, false)
	if m := s.Tasks[0].Expect.Answer.JSON[0]; m.Pointer != "/who/balance" || string(m.Equals) != "100" {
		t.Errorf("got %+v", m)
	}
}

func TestMCPMark(t *testing.T) {
	x := "x"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	s, notes, err := MCPMark(fstest.MapFS{
		"bank/pay/meta.json":         file(`{"task_id":"pay","task_name":"Pay","category_id":"c","difficulty":"L1","tags":["write"],"mcp":["bank"]}`),
		"bank/pay/description.md":    file("Ada pays 5 to Alan."),
		"bank/pay/verify.py":         file("import sys"),
		"bank/close/meta.json":       file(`{"task_id":"close","mcp":["bank"]}`),
		"bank/close/description.md":  file("Close the account."),
		"notion/page/meta.json":      file(`{"task_id":"page","mcp":["notion"]}`),
		"notion/page/description.md": file("Write a page."),
	}, bank, map[string]suite.Expect{
		"pay":  {Calls: []suite.Call{{Tool: "transfer", Args: []byte(`{"from":"Ada","to":"Alan","amount":5}`)}}, Effects: map[string]int{"bank.transfer": 1}},
		"page": {Answer: &suite.Answer{Exact: &x}},
	})
	check(t, s, notes, err, 1, 2, true)
}

func TestPydanticEvals(t *testing.T) {
	s, notes, err := PydanticEvals([]byte(`# yaml-language-server: $schema=x.json
name: mine
cases:
- name: equal
  inputs: hello
  expected_output: HELLO
  evaluators: [EqualsExpected]
- name: contains
  inputs: {question: the capital of France}
  evaluators: [{Contains: {value: paris, case_sensitive: false}}]
- name: judged
  inputs: x
  evaluators: [{LLMJudge: is it good}]
- inputs: nothing is checked
evaluators:
- IsInstance: str
`), nil)
	check(t, s, notes, err, 2, 2, true)
}

func TestPromptfoo(t *testing.T) {
	s, notes, err := Promptfoo([]byte(`description: mine
prompts: ["Translate {{ word }} to {{language}}."]
defaultTest: {vars: {language: French}}
tests:
- vars: {word: dog}
  assert: [{type: equals, value: chien}]
- description: cat
  vars: {word: cat, language: German}
  assert: [{type: icontains, value: katze}, {type: not-icontains, value: hund}]
- vars: {word: cow}
  assert: [{type: llm-rubric, value: polite}]
`), nil)
	check(t, s, notes, err, 2, 1, true)
	if p := s.Tasks[0].Prompt; p != "Translate dog to French." {
		t.Errorf("got prompt %q", p)
	}
}

// Whatever a file has, a reader reads it or says why not, and a suite that it gives is whole.
func FuzzReaders(f *testing.F) {
	f.Add([]byte(`{"id":"a","question":[[{"role":"user","content":"x"}]],"function":[{"name":"a.b","parameters":{"type":"dict"}}]}`), []byte(`{"id":"a","ground_truth":[{"a.b":{"n":[1]}}]}`))
	f.Add([]byte(`[{"id":1,"user_scenario":{"instructions":"x"},"evaluation_criteria":{"communicate_info":["100"]}}]`), []byte(`{"question":"x","evaluators":[{"func":"json -> get(a)","op":"=","value":1}]}`))
	f.Add([]byte("cases: [{inputs: x, expected_output: y, evaluators: [EqualsExpected, {Contains: z}]}]"), []byte("prompts: ['{{a}}']\ntests: [{vars: {a: 1}, assert: [{type: equals, value: b}]}]"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, read := range []func() (*suite.Suite, []Note, error){
			func() (*suite.Suite, []Note, error) { return BFCL(a, b) },
			func() (*suite.Suite, []Note, error) { return Tau2(a, bank, "") },
			func() (*suite.Suite, []Note, error) { return MCPUniverse(map[string][]byte{"b": b}, bank) },
			func() (*suite.Suite, []Note, error) { return PydanticEvals(a, nil) },
			func() (*suite.Suite, []Note, error) { return Promptfoo(b, nil) },
		} {
			if s, _, err := read(); err == nil && s.Check() != nil {
				t.Errorf("%q and %q: the suite is wrong: %v", a, b, s.Check())
			}
		}
	})
}
