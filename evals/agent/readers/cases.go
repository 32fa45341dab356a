package readers

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// PydanticEvals reads a dataset. It takes the evaluators EqualsExpected and Contains; IsInstance of a
// string always holds. Cases with others are left out.
func PydanticEvals(data []byte, servers map[string]*suite.Server) (*suite.Suite, []Note, error) {
	var in struct {
		Name  string
		Cases []struct {
			Name       string
			Inputs     json.RawMessage
			Expected   json.RawMessage `json:"expected_output"`
			Evaluators []json.RawMessage
		}
		Evaluators []json.RawMessage
	}
	if err := decode(data, &in); err != nil {
		return nil, nil, err
	}
	b := begin(or(in.Name, "pydantic-evals"), servers)
	for i, c := range in.Cases {
		t := &suite.Task{ID: or(c.Name, fmt.Sprint("case ", i+1)), Prompt: text(c.Inputs)}
		why := ""
		for _, e := range append(append([]json.RawMessage(nil), in.Evaluators...), c.Evaluators...) {
			if why = evaluator(&t.Expect, e, c.Expected); why != "" {
				break
			}
		}
		if why != "" {
			b.leaveOut(t.ID, "%s", why)
			continue
		}
		b.add(t)
	}
	return b.end()
}

// evaluator takes an evaluator: its name, or an object of its name and arguments.
func evaluator(to *suite.Expect, raw, expected json.RawMessage) (why string) {
	name := text(raw)
	var with map[string]json.RawMessage
	if json.Unmarshal(raw, &with) == nil {
		for n := range with {
			name = n
		}
	}
	a := to.Answer
	if a == nil {
		a = &suite.Answer{}
	}
	switch arg := with[name]; {
	case name == "EqualsExpected" && with == nil && len(expected) > 0 && string(expected) != "null":
		exact := text(expected)
		a.Exact = &exact
	case name == "Contains" && text(arg) != "":
		var long struct {
			Value         json.RawMessage
			CaseSensitive *bool `json:"case_sensitive"`
		}
		if json.Unmarshal(arg, &long) != nil || long.Value == nil {
			long.Value = arg
		}
		a.Regex = append(a.Regex, has(text(long.Value), long.CaseSensitive == nil || *long.CaseSensitive))
	case name == "IsInstance" && text(arg) == "str":
		return ""
	default:
		return fmt.Sprintf("the evaluator %s is of the library", name)
	}
	to.Answer = a
	return ""
}

// has is a pattern for a text anywhere.
func has(text string, cased bool) string {
	if cased {
		return regexp.QuoteMeta(text)
	}
	return "(?i)" + regexp.QuoteMeta(text)
}

var variable = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// Promptfoo reads prompts and tests, each test with each prompt. It takes the assertions equals,
// contains, regex, icontains, icontains-all, not-icontains, and is-json with a schema; tests with others
// are left out.
func Promptfoo(data []byte, servers map[string]*suite.Server) (*suite.Suite, []Note, error) {
	type test struct {
		Description string
		Vars        map[string]json.RawMessage
		Assert      []assertion
	}
	var in struct {
		Description string
		Prompts     []string
		DefaultTest test `json:"defaultTest"`
		Tests       []test
	}
	if err := decode(data, &in); err != nil {
		return nil, nil, err
	}
	b := begin(or(in.Description, "promptfoo"), servers)
	for i, c := range in.Tests {
		for j, prompt := range in.Prompts {
			t := &suite.Task{ID: or(c.Description, fmt.Sprint("test ", i+1))}
			if len(in.Prompts) > 1 {
				t.ID += fmt.Sprint(" of prompt ", j+1)
			}
			t.Prompt = variable.ReplaceAllStringFunc(prompt, func(v string) string {
				name := variable.FindStringSubmatch(v)[1]
				if raw, ok := c.Vars[name]; ok {
					return text(raw)
				}
				return text(in.DefaultTest.Vars[name])
			})
			why := ""
			for _, a := range append(append([]assertion(nil), in.DefaultTest.Assert...), c.Assert...) {
				if why = a.add(&t.Expect); why != "" {
					break
				}
			}
			if why != "" {
				b.leaveOut(t.ID, "%s", why)
				continue
			}
			b.add(t)
		}
	}
	return b.end()
}

type assertion struct {
	Type  string
	Value json.RawMessage
}

// add takes the assertion, or says why it cannot.
func (a assertion) add(to *suite.Expect) (why string) {
	if a.Type == "is-json" && len(a.Value) > 0 {
		to.Schema = a.Value
		return ""
	}
	if to.Answer == nil {
		to.Answer = &suite.Answer{}
	}
	if text(a.Value) == "" && a.Type != "equals" {
		return fmt.Sprintf("the assertion %s has no text", a.Type)
	}
	var several []string
	_ = json.Unmarshal(a.Value, &several) // one value is taken below
	switch a.Type {
	case "equals":
		exact := text(a.Value)
		to.Answer.Exact = &exact
	case "icontains":
		to.Answer.Regex = append(to.Answer.Regex, has(text(a.Value), false))
	case "icontains-all":
		for _, one := range several {
			to.Answer.Regex = append(to.Answer.Regex, has(one, false))
		}
	case "contains":
		to.Answer.Regex = append(to.Answer.Regex, has(text(a.Value), true))
	case "not-icontains":
		to.Answer.Lacks = append(to.Answer.Lacks, text(a.Value))
	case "regex":
		to.Answer.Regex = append(to.Answer.Regex, text(a.Value))
	default:
		return fmt.Sprintf("the assertion %s is of the program", a.Type)
	}
	return ""
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
