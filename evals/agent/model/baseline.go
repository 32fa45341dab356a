package model

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// baseline answers without a language model: what a suite gives to it is no merit of a model.
type baseline struct {
	choose func(prompt string, tools []llms.Tool, reply int) *suite.Call // nil: answer
	answer func(last string) string
}

// Call implements [llms.Model].
func (b *baseline) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, b, prompt, options...)
}

// GenerateContent implements [llms.Model].
func (b *baseline) GenerateContent(_ context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	prompt, replies := "", 0
	for _, m := range messages {
		switch m.Role {
		case llms.ChatMessageTypeAI:
			replies++
		case llms.ChatMessageTypeHuman:
			for _, p := range m.Parts {
				if text, ok := p.(llms.TextContent); ok {
					prompt, replies = text.Text, 0
				}
			}
		}
	}
	if len(o.Tools) > 0 {
		if c := b.choose(prompt, o.Tools, replies); c != nil {
			return reply(len(messages), suite.Step{Calls: []suite.Call{*c}}), nil
		}
	}
	_, last := (&script{}).position(messages)
	return reply(len(messages), suite.Step{Say: b.answer(strings.TrimSpace(last))}), nil
}

// maxGuesses is how often the baseline random calls a tool.
const maxGuesses = 3

// random calls tools by chance, always the same ones for a seed, a task and a trial.
func random(seed uint64, task string, trial int) *baseline {
	var mix uint64
	for _, c := range task {
		mix = mix*31 + uint64(c)
	}
	return &baseline{
		choose: func(prompt string, tools []llms.Tool, n int) *suite.Call {
			r := rand.New(rand.NewPCG(seed, mix+uint64(trial)<<32+uint64(n)))
			if n >= maxGuesses {
				return nil
			}
			t := tools[r.IntN(len(tools))].Function
			words := strings.Fields(prompt)
			return &suite.Call{Tool: t.Name, Args: arguments(t.Parameters, func(int) string { return words[r.IntN(len(words))] })}
		},
		answer: func(string) string { return "done" },
	}
}

// keyword calls the tool whose description is closest to the prompt, by BM25, once, and answers with
// what it returned.
func keyword() *baseline {
	return &baseline{
		choose: func(prompt string, tools []llms.Tool, n int) *suite.Call {
			if n > 0 {
				return nil
			}
			t := tools[closest(prompt, tools)].Function
			values := names(prompt)
			return &suite.Call{Tool: t.Name, Args: arguments(t.Parameters, func(i int) string {
				if i < len(values) {
					return values[i]
				}
				return prompt
			})}
		},
		answer: func(last string) string { return last },
	}
}

var name = regexp.MustCompile(`[\pL\pN_-]*[./][\pL\pN_./-]*[\pL\pN]|\d+(\.\d+)?|\p{Lu}[\pL\pN]+`)

// names are what a prompt names: paths, numbers, words with a capital. The first word of a sentence has
// one anyway.
func names(prompt string) (found []string) {
	for _, at := range name.FindAllStringIndex(prompt, -1) {
		before := strings.TrimSpace(prompt[:at[0]])
		word := prompt[at[0]:at[1]]
		capital := !strings.ContainsAny(word, "./") && unicode.IsUpper([]rune(word)[0])
		if first := before == "" || strings.ContainsAny(before[len(before)-1:], ".?!:"); !capital || !first {
			found = append(found, word)
		}
	}
	return found
}

// oracle makes the calls that the task expects, in turn, and gives the expected answer. It shows
// whether a task can be done.
func oracle(want *suite.Expect) *baseline {
	return &baseline{
		choose: func(_ string, _ []llms.Tool, n int) *suite.Call {
			if n < len(want.Calls) {
				return made(want.Calls[n])
			}
			return nil
		},
		answer: func(last string) string { return expected(want.Answer, last) },
	}
}

// made is a call as it is expected, with the first values that are right.
func made(c suite.Call) *suite.Call {
	args := map[string]json.RawMessage{}
	for name, values := range c.Accept {
		if len(values) > 0 {
			args[name] = values[0]
		}
	}
	if c.Accept != nil {
		c.Args, _ = json.Marshal(args) // was JSON
	}
	return &suite.Call{Tool: c.Tool, Args: c.Args}
}

// expected is an answer that fits.
func expected(a *suite.Answer, otherwise string) string {
	switch {
	case a == nil:
		return otherwise
	case a.Exact != nil:
		return *a.Exact
	case a.Number != nil:
		return fmt.Sprint(*a.Number)
	case a.Set != nil:
		return strings.Join(a.Set, ", ")
	}
	texts := a.Contains
	for _, r := range a.Regex {
		texts = append(texts, literal(r))
	}
	if len(texts) > 0 {
		return strings.Join(texts, " ")
	}
	return otherwise
}

// literal is the text that a regular expression stands for, "" if it stands for several.
func literal(pattern string) string {
	r, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || r.Op != syntax.OpLiteral {
		return ""
	}
	return string(r.Rune)
}

// arguments fills the required members of a schema.
func arguments(parameters any, text func(i int) string) json.RawMessage {
	var s struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
	data, err := json.Marshal(parameters)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return json.RawMessage("{}")
	}
	args := map[string]any{}
	for i, name := range s.Required {
		switch s.Properties[name].Type {
		case "number", "integer":
			args[name] = 1
			var n json.Number
			if json.Unmarshal([]byte(text(i)), &n) == nil {
				args[name] = n
			}
		case "boolean":
			args[name] = true
		case "array":
			args[name] = []any{text(i)}
		case "object":
			args[name] = map[string]any{}
		default:
			args[name] = strings.TrimSpace(text(i))
		}
	}
	if data, err = json.Marshal(args); err != nil {
		return json.RawMessage("{}")
	}
	return data
}

// closest is the tool with the best BM25 score for a prompt.
func closest(prompt string, tools []llms.Tool) int {
	docs := make([]map[string]int, len(tools))
	in, total := map[string]int{}, 0
	for i, t := range tools {
		docs[i] = map[string]int{}
		for _, w := range terms(t.Function.Name + " " + t.Function.Description) {
			if docs[i][w] == 0 {
				in[w]++
			}
			docs[i][w]++
			total++
		}
	}
	const k, b = 1.2, 0.75
	best, most := 0, math.Inf(-1)
	for i, d := range docs {
		length, score := 0, 0.0
		for _, n := range d {
			length += n
		}
		for _, w := range terms(prompt) {
			f := float64(d[w])
			idf := math.Log(1 + (float64(len(docs)-in[w])+0.5)/(float64(in[w])+0.5))
			score += idf * f * (k + 1) / (f + k*(1-b+b*float64(length)*float64(len(docs))/float64(max(total, 1))))
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}

var word = regexp.MustCompile(`[\pL\pN]+`)

// terms are the words of a text, without the s of a plural.
func terms(text string) []string {
	all := word.FindAllString(strings.ToLower(strings.ReplaceAll(text, "_", " ")), -1)
	for i, w := range all {
		if len(w) > 3 {
			all[i] = strings.TrimSuffix(w, "s")
		}
	}
	return all
}
