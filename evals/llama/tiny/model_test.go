package tiny

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// The file is small, and changes only with the code: serve it before another sum is written here.
func TestModel(t *testing.T) {
	const sum = "83ea5cd38f2470e86fef1b7b2f3d6cebb0dd77df9ea28ab356fc5ac6b981884b"
	data := Model()
	got := fmt.Sprintf("%x", sha256.Sum256(data))
	check.That(t, got == sum && len(data) <= 4<<20, "got %d bytes with the sum %s, want %s and less than 4 MiB", len(data), got, sum)
}

// reply plays the model: the next token is the likeliest one that is allowed.
func reply(prompt string, allowed func(soFar string) bool) string {
	t := newTable()
	var text string
	for last := t.ids[prompt]; len(text) < 300; {
		best := -1
		for next := range t.texts {
			if (best < 0 || t.score(last, next) > t.score(last, best)) && allowed(text+t.texts[next]) {
				best = next
			}
		}
		if last = best; t.texts[best] == markEnd {
			break
		}
		text += t.texts[best]
	}
	return text
}

func TestReplies(t *testing.T) {
	all := func(string) bool { return true }
	weather := "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	both := weather + strings.ReplaceAll("\n"+weather, Weather, Clock)
	for _, c := range []struct {
		prompt, want string
		allowed      func(string) bool
	}{
		{promptEnd, Greeting, all},
		{Forever + promptEnd, strings.Repeat(EndWords, 43), all},
		{markOffered + promptEnd, both, all},
		{markOffered + promptEnd, weather, func(s string) bool { return !strings.Contains(s, Clock) }},
		{Think + markOffered + promptEnd, "<think>" + Thought + "</think>" + both, all},
		{markReturned + promptEnd, Answer, all},
		{Think + markReturned + promptEnd, "<think>" + Thought + "</think>" + both, all},
		{promptEnd, `{"a":1,"b":[]}`, func(s string) bool { return strings.HasPrefix(`{"a":1,"b":[]}`+markEnd, s) }},
		{promptEnd, `""`, func(s string) bool {
			return s[0] == '"' && (s == `""`+markEnd || !strings.ContainsAny(s[1:], "\"<") || s == `""`)
		}},
	} {
		check.Equal(t, c.prompt, reply(c.prompt, c.allowed), c.want)
	}
	check.That(t, newTable().texts[0] != gpt2Text("\x00") && gpt2Text(" \n") == "ĠĊ",
		"got %q, want the characters of GPT-2", gpt2Text(" \n"))
	for _, mark := range []string{markEnd, markUser, markAssistant, markSystem, markTool, markOffered, markReturned, openThought, closeThought, openCall} {
		check.That(t, strings.Contains(template, mark) && strings.Contains(Modelfile("m"), mark), "a template lacks %s", mark)
	}
}
