package tryout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

type reply struct {
	text  string
	calls []openai.ToolCall
}

// rule turns a part of a question into calls of one tool.
type rule struct {
	tool    string // the tool's own name; a host may have added a prefix
	pattern *regexp.Regexp
	args    func(match []string) []map[string]any // one per call
	example string
}

// Parts of a booking after the word table, in any order.
const (
	where = `(?:[^.?!]*?\bat\s+(\p{Lu}[\p{L}'’-]*(?:\s+\p{Lu}[\p{L}'’-]*)*))`
	party = `(?i:[^.?!]*?\bfor\s+(\d{1,3})\b)`
)

// rules begin with summarize, because its text may look like other questions.
var rules = []rule{
	{"summarize", regexp.MustCompile(`(?is)^\W*(?:please\s+)?(?:give (?:me )?a )?summar(?:ize|ise|y)(?:\s+of)?` +
		`(?:\s+(?:this|the following|text))*\s*:?\s+(.+)`), passageArgs, "Summarize: <a text>"},
	{"add", regexp.MustCompile(`(?i)(-?\d+(?:\.\d+)?)\s*(?:\+|plus)\s*(-?\d+(?:\.\d+)?)`), numbers, "What is 17 plus 25?"},
	{"add", regexp.MustCompile(`(?i)\b(?:add|sum of)\s+(-?\d+(?:\.\d+)?)\s+(?:and|to)\s+(-?\d+(?:\.\d+)?)`), numbers, ""},
	{"multiply", regexp.MustCompile(`(?i)(-?\d+(?:\.\d+)?)\s*(?:\*|×|times)\s*(-?\d+(?:\.\d+)?)`), numbers, "What is 6 times 7?"},
	{"weather", regexp.MustCompile(`(?i:\bweather\s+(?:in|for|at))\s+` +
		`(\p{L}[\p{L}'-]*(?:\s+and\s+\p{Lu}[\p{L}'-]*|\s+\p{Lu}[\p{L}'-]*)*)`), places, "How is the weather in Berlin?"},
	{"book_table", regexp.MustCompile(`(?i:\b(?:book|reserve)\b[^.?!]*\btable\b)` +
		`(?:` + where + party + `|` + party + where + `|` + where + `|` + party + `)?`), bookingArgs, "Book a table for 4 at Luigi"},
	{"count", regexp.MustCompile(`(?i)\bcount\s+(?:up\s+)?to\s+(\d{1,6})`), goalArgs, "Count to 5"},
	{"picture", regexp.MustCompile(`(?i)\b(?:picture|image|photo)\b`), noArgs, "Show me a picture"},
}

// maxCalls bounds the calls of one rule for a question.
const maxCalls = 8

// direct lets a person call any tool: call NAME {"its": "arguments"}.
var direct = regexp.MustCompile(`(?is)^\s*call\s+([\w.-]+)\s*(\{.*\})?\s*$`)

// earlier asks for the question before.
var earlier = regexp.MustCompile(`(?i)\bwhat (?:did i|was my)\b.*\b(?:ask|say|question|before)`)

func answer(req *openai.ChatCompletionRequest) reply {
	names := toolNames(req)
	if results := toolResults(req.Messages, len(names) > 0); len(results) > 0 {
		return reply{text: describeResults(results)}
	}
	questions := userTexts(req.Messages)
	question := ""
	if len(questions) > 0 {
		question = questions[len(questions)-1]
	}
	if len(names) == 0 {
		return reply{text: plainAnswer(req, question)}
	}
	if m := direct.FindStringSubmatch(question); m != nil {
		return reply{calls: []openai.ToolCall{call(len(req.Messages), 0, m[1], cmp.Or(m[2], "{}"))}}
	}
	if calls := matchRules(question, names, len(req.Messages)); len(calls) > 0 {
		return reply{calls: calls}
	}
	if earlier.MatchString(question) && len(questions) > 1 {
		return reply{text: "Before that you asked: " + questions[len(questions)-2]}
	}
	return reply{text: abilities(names)}
}

// matchRules applies every rule that fits, in the order of the question.
func matchRules(question string, names []string, messages int) []openai.ToolCall {
	type hit struct {
		at   int
		name string
		args map[string]any
	}
	var hits []hit
	for _, r := range rules {
		name := findTool(names, r.tool)
		if name == "" {
			continue
		}
		for _, at := range r.pattern.FindAllStringSubmatchIndex(question, maxCalls) {
			match := make([]string, len(at)/2)
			for i := range match {
				if at[2*i] >= 0 {
					match[i] = question[at[2*i]:at[2*i+1]]
				}
			}
			for _, args := range r.args(match) {
				hits = append(hits, hit{at[0], name, args})
			}
		}
		if r.tool == "summarize" && len(hits) > 0 {
			break
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.at - b.at })
	var calls []openai.ToolCall
	for i, h := range hits {
		calls = append(calls, call(messages, i, h.name, encode(h.args)))
	}
	return calls
}

func numbers(m []string) []map[string]any {
	a, _ := strconv.ParseFloat(m[1], 64)
	b, _ := strconv.ParseFloat(m[2], 64)
	return []map[string]any{{"a": a, "b": b}}
}

var and = regexp.MustCompile(`\s+and\s+`)

func places(m []string) []map[string]any {
	var out []map[string]any
	for _, city := range and.Split(m[1], maxCalls) {
		out = append(out, map[string]any{"city": strings.TrimSpace(city)})
	}
	return out
}

func passageArgs(m []string) []map[string]any { return []map[string]any{{"text": m[1]}} }

func bookingArgs(m []string) []map[string]any {
	args := map[string]any{}
	if restaurant := cmp.Or(m[1], m[4], m[5]); restaurant != "" {
		args["restaurant"] = restaurant
	}
	if people, err := strconv.Atoi(cmp.Or(m[2], m[3], m[6])); err == nil {
		args["people"] = people
	}
	return []map[string]any{args}
}

func goalArgs(m []string) []map[string]any {
	to, _ := strconv.Atoi(m[1])
	return []map[string]any{{"to": to}}
}

func noArgs([]string) []map[string]any { return []map[string]any{{}} }

func encode(args map[string]any) string {
	data, err := json.Marshal(args)
	if err != nil {
		return "{}"
	}
	return string(data)
}

// call returns a tool call with an id that is new in this conversation, by the number of its messages.
func call(messages, i int, name, arguments string) openai.ToolCall {
	return openai.ToolCall{
		ID: fmt.Sprintf("call_demo_%d_%d", messages, i), Type: openai.ToolTypeFunction,
		Function: openai.FunctionCall{Name: name, Arguments: arguments},
	}
}

func toolNames(req *openai.ChatCompletionRequest) []string {
	if choice, ok := req.ToolChoice.(string); ok && choice == "none" {
		return nil
	}
	var names []string
	for _, t := range req.Tools {
		if t.Function != nil {
			names = append(names, t.Function.Name)
		}
	}
	return names
}

// findTool returns the tool with the name want, or the first tool with that name after a prefix.
func findTool(names []string, want string) string {
	if slices.Contains(names, want) {
		return want
	}
	for _, n := range names {
		if isTool(n, want) {
			return n
		}
	}
	return ""
}

// isTool reports whether a name is the one of a tool, or that after a prefix.
func isTool(name, want string) bool {
	prefix, ok := strings.CutSuffix(name, want)
	return ok && (prefix == "" || strings.ContainsAny(prefix[len(prefix)-1:], "_-."))
}

// abilities lists the possible questions.
func abilities(names []string) string {
	var b strings.Builder
	b.WriteString("I am a demo model that follows fixed rules. Try one of these:\n")
	for _, r := range rules {
		if r.example != "" && findTool(names, r.tool) != "" {
			b.WriteString("- " + r.example + "\n")
		}
	}
	shown := names[:min(len(names), 30)]
	fmt.Fprintf(&b, "- call TOOL {\"argument\": \"value\"}, with one of the tools %s", strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// The bounds of texts in bytes. An ellipsis follows a text that is cut.
const (
	maxResult  = 4 << 10
	maxSummary = 160
)

// describeResults returns a sentence for each result.
func describeResults(results []result) string {
	var lines []string
	for _, r := range results {
		text := excerpt.CutAt(r.text, maxResult)
		failed := strings.HasPrefix(text, "Error: ")
		switch {
		case strings.HasSuffix(text, "."): // a sentence, as the host's own texts are
			lines = append(lines, text)
		case !failed && (isTool(r.tool, "add") || isTool(r.tool, "multiply")):
			lines = append(lines, "The result: "+text+".")
		case !failed && isTool(r.tool, "picture"):
			title, _, _ := strings.Cut(text, "\n")
			lines = append(lines, "Here is the picture: "+title+".")
		default:
			lines = append(lines, fmt.Sprintf("The tool %s says: %s", r.tool, text))
		}
	}
	return strings.Join(lines, "\n")
}

var sentenceEnd = regexp.MustCompile(`[.!?](?:\s|$)`)

// plainAnswer replies to a request without tools, for example a server's sampling request.
func plainAnswer(req *openai.ChatCompletionRequest, question string) string {
	for _, m := range req.Messages {
		if strings.Contains(strings.ToLower(messageText(m)), "summar") {
			return summary(question)
		}
	}
	return "I am a demo model that follows fixed rules, and I was given no tools that I could use for this."
}

// summary returns the first sentence, cut to maxSummary.
func summary(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		text = strings.TrimSpace(text[:at[1]])
	}
	return excerpt.CutAt(text, maxSummary)
}
